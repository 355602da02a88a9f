"""What a trial is worth to an optimisation: a value for each domain, what vetoes it, and what a reflector receives.

Each domain of the rubric is an objective of its own; the suite's checks are one more: `checks`. Safety is not one
that could be traded for another one: what breaks it vetoes the candidate.
"""

import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final

from harness.gateway.budgets import Budget
from harness.judging.judge import Judge, JudgedTrial, client_of
from harness.judging.panel import ConcurrentPanels, Panel, PanelTask
from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import Rubric
from harness.judging.settings import JudgeSettings, judge_settings
from harness.judging.transcripts import build_transcript
from harness.judging.verdicts import Judgement, score_rubric
from harness.scoring.scorecard import Diagnosis, Scorecard
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.text import shortened, tokens_of
from harness.traces.outcomes import MEASURED
from harness.traces.trajectory import Step, Trajectory
from harness.traces.trial import Trial
from harness.values import canonical_json

CHECKS: Final = "checks"
"""The domain of the suite's checks: the share of those decided that passed."""
_SHOWN: Final = 300
_SPOKEN: Final = ("user", "reported", "agent", "narration", "call", "result", "answer", "state")
_MOST_TOKENS: Final = 2_000
"""Of one conversation that a reflector is shown."""
_LONGEST_MESSAGE: Final = 1_200
"""Characters of one message, call or answer in it."""
_STEP: Final = "step:"


@dataclass(frozen=True, kw_only=True)
class TrialVerdict:
    """One trial, judged."""

    domains: Mapping[str, float | None]
    """Domain -> its value, 0 to 1; None: nothing of it applied, or the trial was not measured."""
    vetoes: tuple[str, ...]
    """`critical: <criterion>`, `safety: <criterion>` and `forbidden: <tool>`, one for each occurrence; with
    `, undecided` behind a criterion to which the judge gave no answer."""
    criteria: Mapping[str, float | None] = field(default_factory=dict)
    """Criterion -> 1: passed, 0: failed; None: neither."""
    feedback: str
    """What went wrong, with step, agent, criterion, failure mode and dependent steps."""
    conversation: str = ""
    """What was said and done, for a reflector: a line for each message, call and answer, within a budget of tokens."""


@dataclass(frozen=True, kw_only=True)
class TrialJudge:
    """Judges trials by the checks that they were scored with, and by a rubric."""

    judge: Judge | None
    """None: by the checks alone."""
    in_flight: int = 8
    """Questions to the judge's model at a time."""
    _panels: list[ConcurrentPanels] = field(default_factory=list, repr=False, compare=False)
    """One if there is a judge. Trials are judged in the threads that ran them, side by side."""

    def __post_init__(self) -> None:
        if self.judge is not None:
            self._panels.append(ConcurrentPanels(self.judge))

    def verdicts(self, trials: Sequence[tuple[Case, Trial, Scorecard]]) -> list[TrialVerdict]:
        """In the order of the trials. Raises HarnessError if the judge's model cannot be asked."""
        judged = self._judgements_of(trials)
        rubric = None if self.judge is None else self.judge.rubric
        return [
            _verdict(rubric, (trial, card), judgements)
            for (_, trial, card), judgements in zip(trials, judged, strict=True)
        ]

    def _judgements_of(self, trials: Sequence[tuple[Case, Trial, Scorecard]]) -> list[list[Judgement]]:
        """The judgements of each trial; none of one that was not measured."""
        found: list[list[Judgement]] = [[] for _ in trials]
        if self.judge is None:
            return found
        judge, open_tasks, places = self.judge, list[PanelTask](), dict[str, int]()
        for place, (case, trial, card) in enumerate(trials):
            if trial.outcome not in MEASURED:
                continue
            subject = JudgedTrial.of(str(place), trial, case, card)
            places[subject.run] = place
            left = []
            for criterion in judge.rubric.criteria_for(case.id):
                decided = judge.decided(subject, criterion)
                if decided is None:
                    left.append(criterion)
                else:
                    found[place].append(decided)
            if left:
                open_tasks.append(PanelTask(subject=subject, criteria=tuple(left)))
        if open_tasks:
            panel = Panel(judge=judge, in_flight=self.in_flight, keep=lambda one: found[places[one.run]].append(one))
            self._panels[0].run(panel, iter(open_tasks))
        return found


def _verdict(rubric: Rubric | None, scored: tuple[Trial, Scorecard], judgements: Sequence[Judgement]) -> TrialVerdict:
    trial, card = scored
    if trial.outcome not in MEASURED:
        names = [CHECKS] if rubric is None else [CHECKS, *rubric.weights]
        said = f"case {trial.case_id}: not measured: {trial.reason}"
        return TrialVerdict(domains=dict.fromkeys(names), vetoes=(), feedback=said)
    domains: dict[str, float | None] = {CHECKS: _share([one.passed for one in card.verdicts])}
    if rubric is not None:
        score = score_rubric(rubric, trial.case_id, judgements)
        domains |= {one.domain: one.value for one in score.domains}
    failed = [one for one in judgements if one.answer == "fail"]
    return TrialVerdict(
        domains=domains,
        criteria={one.criterion: None if one.passed is None else float(one.passed) for one in judgements},
        vetoes=(*_broken(rubric, judgements), *_forbidden(card, trial)),
        feedback="\n".join(_feedback(rubric, trial, card, failed)),
        conversation=conversation(trial, {index for one in failed for index in _cited(trial.trajectory, one)}),
    )


def conversation(trial: Trial, cited: Collection[int] = ()) -> str:
    """The user's words, the agents' words, and the calls with their answers, in order.

    If they are more than the budget holds, the steps `cited` by failures stay first, then the user's words, then the
    latest. Further lines of a message are indented, so that no text can pass for another speaker's.
    """
    pieces = [one for one in build_transcript(trial).pieces if one.kind in _SPOKEN]
    lines = [
        "\n    ".join(f"{one.who}: {shortened(one.text, _LONGEST_MESSAGE, ' [cut off]')}".splitlines())
        for one in pieces
    ]
    first = sorted(
        range(len(pieces)), key=lambda n: (pieces[n].step not in cited, pieces[n].kind not in ("user", "answer"), -n)
    )
    left, kept = _MOST_TOKENS, set[int]()
    for number in first:
        left -= tokens_of(lines[number])
        if left < 0:
            break
        kept.add(number)
    told: list[str] = []
    for is_kept, numbers in groupby(range(len(lines)), key=kept.__contains__):
        some = list(numbers)
        told += [lines[n] for n in some] if is_kept else [f"[{len(some)} messages, calls or answers left out]"]
    return "\n".join(told)


def means(maps: Sequence[Mapping[str, float | None]]) -> dict[str, float | None]:
    """The mean of each name over the maps in which it has a value; None if it has one in none."""
    names = dict.fromkeys(name for one in maps for name in one)
    return {name: mean([one.get(name) for one in maps]) for name in names}


def mean(values: Sequence[float | None]) -> float | None:
    """Over the values that are known; None without one."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _share(passed: Sequence[bool | None]) -> float | None:
    decided = [one for one in passed if one is not None]
    return sum(decided) / len(decided) if decided else None


def _broken(rubric: Rubric | None, judgements: Sequence[Judgement]) -> Iterator[str]:
    """What a judge gives no answer to may be broken: else texts at which it fails would be the safest."""
    said = {"fail": "", "judge_failed": ", undecided"}
    for one in judgements:
        criterion = None if rubric is None else rubric.criterion(one.criterion)
        if criterion is not None and (criterion.critical or criterion.safety) and one.answer in said:
            yield f"{'critical' if criterion.critical else 'safety'}: {one.criterion}{said[one.answer]}"


def _forbidden(card: Scorecard, trial: Trial) -> Iterator[str]:
    """Calls that the case does not allow, and what a check on forbidden tools has found."""
    seen = trial.trajectory.observations
    for call in trial.trajectory.calls:
        error = seen[call.id].error if call.id in seen else None
        if error is not None and error.type == "not_allowed":
            yield f"forbidden: {call.name}"
    for verdict in card.verdicts:
        if verdict.verifier == "forbidden_tools" and verdict.passed is False:
            yield f"forbidden: {verdict.check}"


def _feedback(rubric: Rubric | None, trial: Trial, card: Scorecard, failed: Sequence[Judgement]) -> Iterator[str]:
    trajectory = trial.trajectory
    wrong = [f"check {one.check} failed: {one.reason}" for one in card.verdicts if one.passed is False]
    for one in failed:
        criterion = None if rubric is None else rubric.criterion(one.criterion)
        statement = "" if criterion is None else f" ({criterion.domain}: {criterion.statement})"
        cited = _cited_steps_text(trajectory, _cited(trajectory, one))
        wrong.append(f"criterion {one.criterion} failed{statement}: {one.rationale}{cited}")
    wrong += [_mode(trajectory, one) for one in card.diagnoses if card.success is False]
    if trial.outcome != "finished":
        wrong.append(f"the trial ended as {trial.outcome}: {trial.reason}")
    yield f"case {trial.case_id}: {'nothing went wrong' if not wrong else f'{len(wrong)} things went wrong'}"
    yield from (f"- {words}" for words in wrong)


def _mode(trajectory: Trajectory, one: Diagnosis) -> str:
    depend = f"; steps {', '.join(map(str, one.dependent_steps))} depend on it" if one.dependent_steps else ""
    at = "" if one.origin_step is None else _cited_steps_text(trajectory, [one.origin_step])
    return f"failure mode {one.failure} ({one.kind}): {one.evidence}{at}{depend}"


def _cited(trajectory: Trajectory, one: Judgement) -> list[int]:
    """The steps that a judgement cites."""
    places = {step.span_id: step.index for step in trajectory.steps if step.span_id is not None}
    return sorted({index for span in one.spans if (index := _index(span, places)) is not None})


def _index(span: str, places: Mapping[str, int]) -> int | None:
    if span in places:
        return places[span]
    number = span.removeprefix(_STEP)
    return int(number) if span.startswith(_STEP) and number.isdecimal() and len(number) < 10 else None


def _cited_steps_text(trajectory: Trajectory, cited: Sequence[int]) -> str:
    """The cited steps with their agents and what they did."""
    steps = {step.index: step for step in trajectory.steps}
    known = [steps[index] for index in cited if index in steps]
    return "".join(f"; at step {step.index}, {step.agent or step.source}: {_step_text(step)}" for step in known)


def _step_text(step: Step) -> str:
    calls = [f"{call.name}({canonical_json(call.arguments)})" for call in step.calls]
    return " ".join([*(calls or [step.message or ""])])[:_SHOWN]


def open_judge(
    project: Path, suite: Suite, rubric: Rubric, typed: Mapping[str, object] | None = None, budget: Budget | None = None
) -> Judge:
    """The judge of a rubric, whose model is asked live: an optimisation keeps the answers itself.

    `typed`: settings over those of `judge.yaml`. A rubric that code decides needs none. Raises UsageError if the
    model or its key is missing.
    """
    by_code = all(one.kind == "code" for one in rubric.criteria)
    settings = (
        JudgeSettings(model="code") if by_code else judge_settings(project, suite.folder, typed or {}, options=None)
    )
    secrets = {name: os.environ[name] for name in settings.spec.secrets if os.environ.get(name)}
    return Judge(
        rubric=rubric,
        prompt=PromptRegistry(project).get(rubric.prompt, settings.label),
        settings=settings,
        asker=client_of(settings, "replay" if by_code else "live", secrets, budget=budget),
        folder=suite.folder,
    )
