"""Checks a drafted case against stored trials: the failed trial must fail it, and the successful ones must pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.case import Case, CheckSpec, Suite
from harness.pipeline.cases.drafting import NO_FAILURE
from harness.results import RunFolder, StoredTrial, runs_in
from harness.score import Evidence, JudgedCriterion, Scorecard, score_trial

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
        card = next((one for one in run.scorecards() if (one.case_id, one.attempt) == (case_id, attempt)), None)
        stored = None if card is None or not card.success else run.stored(case_id, attempt)
        if stored is not None:
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
        failing=_answer(_scored(case, suite, failing, judged)),
        passing={one.name: _answer(_scored(case, suite, one.stored)) for one in passing},
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


def _answer(card: Scorecard) -> Answer:
    if card.success is False or card.outcome in _FAILED_OUTCOMES:
        return "fails"
    return "passes" if card.success else "unknown"
