"""Drafts a case from a failed trial, and proves the draft against stored trials."""

import hashlib
import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.runs.store.baseline import runs_in
from harness.runs.store.folder import RunFolder, StoredTrial
from harness.scoring.evidence import Evidence, JudgedCriterion
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import score_trial
from harness.suite.cases import UNTOLD_TASK, Case, CheckSpec, Limits
from harness.suite.suites import Suite
from harness.text import shortened
from harness.traces.trial import REWARD, Trial
from harness.values import Frozen

PREFIX = "prod-regression-"
TAG = "regression"
NO_FAILURE = "no_failure"
"""The verifier of the checks that are made of diagnoses."""
SUCCEEDED = "the trial succeeded: the case protects this success and shows no failure"
_SHOWN = 300
_HEX = re.compile(r"[0-9a-fA-F]{8,}")


class CaseDraft(Frozen):
    """The case, and notes for the person who adopts it."""

    case: Case
    notes: tuple[str, ...] = ()


def draft(
    source: Case, trial: Trial, card: Scorecard, suite: Suite, origin: str, passing: Sequence[Trial] = ()
) -> CaseDraft:
    """The case for `suite`. Its reference is the source case's own, if any: the failed calls are not a reference.

    `passing`: trials that succeeded at the same task; limits are wide enough for them. What the suite does not have
    (tools, fixture packs) is left out, and noted.
    """
    notes: list[str] = []
    fitted = _fitted(source, suite, notes)
    checks = tuple(check for check in source.checks if check.verifier != REWARD)
    if not checks and not suite.checks and source.expected_output is not None:
        checks = (CheckSpec(name="answer", verifier="final_answer"),)
    checks += _checks_of(card, {check.name for check in (*suite.checks, *checks)})
    if not checks and not suite.checks:
        notes.append("the case has no check yet: add one, else no agent can pass it")
    if card.success:
        notes.append(SUCCEEDED)
    case = fitted.model_copy(
        update={
            "task": _task(source, trial),
            "id": regression_id(trial.trajectory.trace_id),
            "description": _description(source, card, origin),
            "checks": checks,
            "limits": limits_for(source.limits, suite.defaults, passing),
            "tags": tuple(dict.fromkeys((*source.tags, TAG))),
            "origin": origin,
        }
    )
    return CaseDraft(case=case, notes=tuple(notes))


def _task(source: Case, trial: Trial) -> str:
    """The task of the case, else the user's first message."""
    said = (step.message for step in trial.trajectory.steps if step.source == "user")
    return next(filter(None, said), source.task) if source.task == UNTOLD_TASK else source.task


def _checks_of(card: Scorecard, taken: Collection[str]) -> tuple[CheckSpec, ...]:
    """One check for each failure mode that was diagnosed."""
    kinds: dict[str, list[str]] = {}
    for one in card.diagnoses:
        if one.failure != "other":
            kinds.setdefault(one.failure, []).append(one.kind)
    return tuple(
        CheckSpec(
            name=name,
            verifier=NO_FAILURE,
            **{"with": {"failure": failure, "kinds": sorted(set(found))}},
        )
        for failure, found in sorted(kinds.items())
        if (name := f"no_{failure}") not in taken
    )


def regression_id(trace_id: str) -> str:
    """`prod-regression-` and the first eight digits of the trace's id; of its digest if the id is not
    hexadecimal.
    """
    digits = trace_id.replace("-", "")
    # Ids of other programs that begin with a word ("run-0001") would all have the same beginning.
    return PREFIX + (digits if _HEX.fullmatch(digits) else hashlib.sha256(trace_id.encode()).hexdigest())[:8].lower()


def limits_for(source: Limits, suite: Limits, passing: Sequence[Trial]) -> Limits:
    """The case's own limits, or the suite's if the case has none; wider if a trial that passed used more.

    The usage of the failed trial is not considered: a fix may need more than a trial that ended early.
    """
    limits = suite if source == Limits() else source
    found: dict[str, float | int] = {}
    for trial in passing:
        tokens, cost = _tokens_and_usd(trial)
        used: dict[str, float | int | None] = {
            "steps": sum(len(step.calls) for step in trial.trajectory.steps if step.source == "agent"),
            "seconds": trial.duration_s if trial.exit is None else trial.exit.duration_s,
            "tokens": tokens,
            "cost_usd": cost,
        }
        for name, value in used.items():
            limit = found.get(name, getattr(limits, name))
            if value is not None and limit is not None and value > limit:
                found[name] = value if name == "cost_usd" else math.ceil(value)
    return limits.model_copy(update=found)


def _tokens_and_usd(trial: Trial) -> tuple[int, float]:
    """Tokens and USD of the model; 0 if they are unknown."""
    if trial.model_use is not None:
        use = trial.model_use
        return use.input_tokens + use.output_tokens, use.cost_usd or 0.0
    usages = [step.usage for step in trial.trajectory.steps if step.usage is not None]
    tokens = sum((usage.input_tokens or 0) + (usage.output_tokens or 0) for usage in usages)
    return tokens, sum(usage.cost_usd or 0.0 for usage in usages)


def _fitted(source: Case, suite: Suite, notes: list[str]) -> Case:
    """The case without parts that the suite does not have."""
    known = {tool.name for tool in suite.tools} | {host.tool for host in suite.hosts}

    def kept(field: str, names: tuple[str, ...]) -> tuple[str, ...]:
        gone = [name for name in names if name not in known]
        if gone:
            notes.append(f"{field}: {', '.join(gone)} omitted: suite {suite.name!r} does not have it")
        return tuple(name for name in names if name in known)

    reference = source.reference
    if reference is not None and not {call.tool for call in reference} <= known:
        notes.append(f"the reference is omitted: it calls tools that suite {suite.name!r} does not have")
        reference = None
    packs = tuple(name for name in source.fixtures if (suite.folder / "fixtures" / f"{name}.yaml").is_file())
    if packs != source.fixtures:
        notes.append("fixture packs that the suite does not have are omitted")
    return source.model_copy(
        update={
            "tools": None if source.tools is None else kept("tools", source.tools),
            "required_tools": kept("required_tools", source.required_tools),
            "forbidden_tools": kept("forbidden_tools", source.forbidden_tools),
            "reference": reference,
            "fixtures": packs,
            "faults": tuple(fault for fault in source.faults if fault.tool == "*" or fault.tool in known),
        }
    )


def _description(source: Case, card: Scorecard, origin: str) -> str:
    """The task, the failed checks, and the findings of the detectors."""
    failed = [f"{one.check}: {_shortened(one.reason)}" for one in card.verdicts if one.passed is False]
    parts = [source.description.strip(), f"Drafted from {origin}."]
    if failed:
        parts.append(f"Failed {'; '.join(failed)}.")
    elif card.reason is not None:
        parts.append(f"It ended with {card.outcome}: {_shortened(card.reason)}.")
    for one in card.diagnoses:
        if one.kind == "unexplained":
            continue  # it repeats a failed check
        where = "" if one.origin_step is None else f" from step {one.origin_step}"
        parts.append(f"Diagnosis: {one.failure} ({one.kind}){where}: {_shortened(one.evidence)}.")
    return " ".join(part for part in parts if part)


def _shortened(text: str) -> str:
    return shortened(" ".join(text.split()).rstrip("."), _SHOWN)


# Checks a drafted case against stored trials: the failed trial must fail it, and the successful ones must pass.

Answer = Literal["passes", "fails", "unknown"]
_MOST = 3
_FAILED_OUTCOMES = ("agent_failed", "limit_reached")


@dataclass(frozen=True, kw_only=True)
class StoredAttempt:
    """A stored trial and its folder."""

    name: str
    """Run, case and attempt."""
    stored: StoredTrial


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The verdicts of the drafted case on the stored trials."""

    failing: Answer
    """Of the trial that it was made from."""
    passing: dict[str, Answer]
    """Verdicts on successful trials of the same task; empty: there are none."""

    @property
    def holds(self) -> bool:
        return self.failing == "fails" and all(answer == "passes" for answer in self.passing.values())


def passing_attempts(project: Path, folder: RunFolder, case_id: str) -> list[StoredAttempt]:
    """Trials that succeeded at this case: of the same run, then of other runs, the newest first.

    Other runs are those of the same suite, and imported ones that have a case of this id with the same task.
    """
    others = [run for run in runs_in(project / "runs") if _is_alike(run, folder, case_id)]
    newest_first = sorted(others, key=lambda run: (run.manifest.created, run.manifest.run), reverse=True)
    found: list[StoredAttempt] = []
    for run in (folder, *newest_first):
        found += _passing(run, case_id)
        if len(found) >= _MOST:
            break
    return found[:_MOST]


def _is_alike(run: RunFolder, folder: RunFolder, case_id: str) -> bool:
    if run.manifest.run == folder.manifest.run:
        return False
    if folder.suite is None or run.suite is None:
        return run.manifest.suite == folder.manifest.suite
    tasks = {case.task for suite in (folder.suite, run.suite) for case in suite.cases if case.id == case_id}
    return len(tasks) == 1 and any(planned.case_id == case_id for planned in run.manifest.planned)


def _passing(run: RunFolder, case_id: str) -> Iterator[StoredAttempt]:
    for attempt in sorted(planned.attempt for planned in run.manifest.planned if planned.case_id == case_id):
        stored = run.stored(case_id, attempt)
        if stored is not None and run.scorecard(case_id, attempt).success:
            yield StoredAttempt(name=f"{run.manifest.run}/{case_id}/{attempt}", stored=stored)


def useful_checks(
    case: Case, suite: Suite, failing: StoredTrial, passing: Sequence[StoredAttempt]
) -> tuple[Case, tuple[str, ...]]:
    """The case with the diagnosis checks that only the failed trial fails; and the reasons why others are omitted."""
    kept: list[CheckSpec] = []
    notes: list[str] = []
    for check in case.checks:
        alone = case.model_copy(update={"checks": (check,)})
        bare = suite.model_copy(update={"checks": ()})
        if check.verifier != NO_FAILURE:
            kept.append(check)
        elif _scored(alone, bare, failing).success is not False:
            notes.append(f"{check.name} is omitted: the detector needs the verdicts of the run")
        elif wrong := [one.name for one in passing if _scored(alone, bare, one.stored).success is False]:
            notes.append(f"{check.name} is omitted: {', '.join(wrong)} succeeded with the same finding")
        else:
            kept.append(check)
    return case.model_copy(update={"checks": tuple(kept)}), tuple(notes)


def prove(
    case: Case,
    suite: Suite,
    failing: StoredTrial,
    passing: Sequence[StoredAttempt],
    judged: Sequence[JudgedCriterion] = (),
) -> Proof:
    """Scores the stored trials by the case's checks, without running an agent.

    `judged`: what a judge found in the failing one.
    """
    return Proof(
        failing=_suggested_answer(_scored(case, suite, failing, judged)),
        passing={one.name: _suggested_answer(_scored(case, suite, one.stored)) for one in passing},
    )


def _scored(case: Case, suite: Suite, stored: StoredTrial, judged: Sequence[JudgedCriterion] = ()) -> Scorecard:
    evidence = Evidence(
        case=case,
        trial=stored.trial,
        tools=suite.tools,
        end_state_archive=stored.end_state,
        judged=tuple(judged),
    )
    return score_trial(evidence, suite.model_copy(update={"cases": (case,)}))


def _suggested_answer(card: Scorecard) -> Answer:
    if card.success is False or card.outcome in _FAILED_OUTCOMES:
        return "fails"
    return "passes" if card.success else "unknown"
