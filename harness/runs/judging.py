"""Judges a stored run: earlier judgements are not repeated, and each verdict is on disk as soon as it is made."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.errors import UsageError
from harness.gateway.budgets import Budget
from harness.gateway.models.client import ModelClient
from harness.gateway.models.recordings import AskMode
from harness.judging.judge import Judge, JudgedTrial, client_of
from harness.judging.panel import Panel, PanelTask, run_panel
from harness.judging.prompts import Prompt
from harness.judging.rubrics import Criterion, Rubric
from harness.judging.settings import JudgeSettings, shared_family
from harness.judging.verdicts import Answer, Judgement
from harness.runs.measured_trials import cards_for, judged_outcomes, suite_of
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import JudgementWriter, keep_rubric, read_judgements
from harness.suite.suites import Suite, check_cases
from harness.values import Frozen

SUFFIX = ".judge"
"""A suite's judge has its cassettes in `cassettes/<suite>.judge/`."""


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """The request of judging a run."""

    rubric: Rubric
    prompt: Prompt
    settings: JudgeSettings
    mode: AskMode = "auto"
    budget: Budget | None = None
    cases: tuple[str, ...] = ()
    """Only these; empty: all."""
    criteria: tuple[str, ...] = ()
    again: bool = False
    """Whether earlier judgements are repeated."""
    watch: Callable[[Judgement], None] = field(default=lambda _: None)
    say: Callable[[str], None] = field(default=lambda _: None)
    """Receives progress messages for the user."""


class Judged(Frozen):
    """The result of judging a run."""

    trials: int
    judged: int
    """Judgements that were made now."""
    before: int
    """Earlier judgements that are still valid."""
    answers: dict[Answer, int]
    """Of those made now."""
    failures: dict[str, int] = {}
    """Why the judge gave no verdict -> how often, the most frequent reason first."""
    skipped: int
    """Trials that were not measured, and so are not judged."""
    calls: int
    recorded: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    left_out: dict[str, str] = {}
    """Sampling parameters that the model refused -> its words."""
    stopped: str | None
    warning: str | None


def judge_run(project: Path, folder: RunFolder, request: JudgeRequest) -> Judged:
    """Judges the measured trials of a run; raises UsageError for a case or criterion that there is not."""
    suite = suite_of(project, folder)
    _check(request, suite)
    request = replace(request, rubric=request.rubric.with_violations(suite.cases))
    asker = _asker(project, folder, suite, request)
    judge = Judge(
        rubric=request.rubric,
        prompt=request.prompt,
        settings=request.settings,
        asker=asker,
        folder=suite.folder,
    )
    keep_rubric(folder.path, request.rubric)
    with JudgementWriter(folder.path, request.rubric.name) as writer:
        return _judged_by(_JudgingSession(folder=folder, suite=suite, request=request, judge=judge, writer=writer))


def _asker(project: Path, folder: RunFolder, suite: Suite, request: JudgeRequest) -> ModelClient:
    """The client of the judge's model for a run, with the suite's judge cassettes. Raises UsageError for a
    missing key.
    """
    cassettes = folder.path / "judge" if folder.suite is not None else project / "cassettes"
    recorded = {"cassettes": cassettes, "suite": f"{suite.name}{SUFFIX}"}
    secrets = secrets_of(suite, request.settings)
    return client_of(request.settings, request.mode, secrets, budget=request.budget, say=request.say, **recorded)


def _family_warning(model: str, folder: RunFolder) -> str | None:
    """A warning if judge and agent use models of the same family."""
    family = shared_family(model, agents_models(folder))
    return None if family is None else f"judge and agent are of one model family ({family}), which may bias verdicts"


def agents_models(folder: RunFolder) -> tuple[str, ...]:
    """The observed models of the agent."""
    return tuple(dict.fromkeys(model for card in folder.cards() for model in card.models))


def _judged_by(session: "_JudgingSession") -> Judged:
    request, spent = session.request, session.judge.asker.spent
    panel = Panel(judge=session.judge, in_flight=request.settings.in_flight, keep=session.keep)
    run_panel(panel, session.tasks())
    return Judged(
        trials=session.trials,
        judged=session.answers.total(),
        before=session.before,
        answers=dict(session.answers),
        failures=dict(session.failures.most_common()),
        skipped=session.skipped,
        **vars(spent),
        left_out=dict(session.judge.asker.parameters.refused),
        stopped=panel.stopped,
        warning=_family_warning(session.judge.settings.model, session.folder),
    )


@dataclass(kw_only=True)
class _JudgingSession:
    """A run on its way through the panel: one trial at a time is read, and each verdict is written at once."""

    folder: RunFolder
    suite: Suite
    request: JudgeRequest
    judge: Judge
    writer: JudgementWriter
    answers: Counter[Answer] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    trials: int = 0
    before: int = 0
    skipped: int = 0

    def keep(self, judgement: Judgement) -> None:
        self.writer.add(judgement)
        self.answers[judgement.answer] += 1
        if judgement.failure is not None:
            self.failures[judgement.failure] += 1
        self.request.watch(judgement)

    def tasks(self) -> Iterator[PanelTask]:
        cases = {case.id: case for case in self.suite.cases}
        done = {} if self.request.again else self._valid_judgements()
        cards = cards_for(self.folder, self.request.rubric)
        for stored in self.folder.trials():
            trial = stored.trial
            if self.request.cases and trial.case_id not in self.request.cases:
                continue
            if trial.outcome not in judged_outcomes(self.request.rubric):
                self.skipped += 1
                continue
            self.trials += 1
            card = cards.get((trial.case_id, trial.attempt))
            subject = JudgedTrial.of(self.folder.manifest.run, trial, cases.get(trial.case_id), card)
            open_ones = self._open(subject, done)
            if open_ones:
                yield PanelTask(subject=subject, criteria=open_ones)

    def _open(self, subject: JudgedTrial, done: Mapping[tuple[str, ...], str]) -> tuple[Criterion, ...]:
        asked = [one for one in self.request.rubric.criteria_for(subject.trial.case_id) if self._wanted(one)]
        place = (subject.trial.case_id, str(subject.trial.attempt), subject.digest)
        open_ones = tuple(
            one
            for one in asked
            if (*place, one.id) not in done
            # Findings change when a run is scored again, and with them the log.
            or (one.kind == "step" and done[*place, one.id] != subject.shown(one).digest)
        )
        self.before += len(asked) - len(open_ones)
        return open_ones

    def _wanted(self, criterion: Criterion) -> bool:
        wanted = self.request.criteria
        return not wanted or criterion.id in wanted or criterion.id.rpartition(".")[0] in wanted

    def _valid_judgements(self) -> dict[tuple[str, ...], str]:
        """The valid earlier judgements: same trajectory, rubric and judge (or code), with an answer. With the digest of
        the evidence that was shown last.
        """
        digest, identity = self.judge.rubric_digest, self.judge.identity
        return {
            (one.case_id, str(one.attempt), one.trajectory, one.criterion): one.evidence
            for one in read_judgements(self.folder.path, self.request.rubric.name)
            if one.failure is None
            and one.rubric_digest == digest
            and (one.judge == identity or one.judge.prompt is None)
        }


def _check(request: JudgeRequest, suite: Suite) -> None:
    ids = {criterion.id for criterion in request.rubric.criteria}
    unknown = sorted({one for one in request.criteria if request.rubric.criterion(one) is None})
    if unknown:
        raise UsageError(
            f"rubric {request.rubric.name!r} has no criterion {', '.join(unknown)}",
            remedy=f"criteria of the rubric: {', '.join(sorted(ids))}",
        )
    check_cases(suite, request.cases)


def secrets_of(suite: Suite, settings: JudgeSettings) -> dict[str, str]:
    """Values that no cassette may contain and that model requests need; read from the environment."""
    names = {*suite.secrets, *settings.spec.secrets}
    return {name: os.environ[name] for name in sorted(names) if os.environ.get(name)}


def model_decided(rubric: Rubric, name: str) -> Criterion:
    """The criterion of that id. Raises UsageError if the rubric has none, or code decides it."""
    found = next((one for one in rubric.criteria if one.id == name), None)
    if found is None or found.kind == "code":
        known = ", ".join(one.id for one in rubric.criteria if one.kind != "code")
        raise UsageError(
            f"no model decides a criterion {name[:100]!r} of rubric {rubric.name!r}", remedy=f"criteria: {known}"
        )
    return found
