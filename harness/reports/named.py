"""Compares two runs, or a baseline and a run, given by name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from harness.errors import UsageError
from harness.reports.change import latency_change
from harness.reports.compare import Comparison, compare_runs, compare_with_baseline
from harness.reports.margin import refuse_unusable
from harness.runs.store.baseline import read_baseline, real_durations
from harness.runs.store.folder import RunFolder, run_path
from harness.scoring.scorecard import Failure, Scorecard
from harness.traces.outcomes import Outcome
from harness.values import Frozen

_PREFIX = "baseline:"


def compare_named(project: Path, before: str, after: Path, margins: Sequence[str] = ()) -> Comparison:
    """Compares the run `before`, or a suite's baseline, with the run `after`.

    Raises UsageError for `margins` that do not apply to the two, before the comparison.
    """
    new = RunFolder.open(after)
    if not before.startswith(_PREFIX):
        old = RunFolder.open(run_path(project, before))
        refuse_unusable(margins, (old.manifest, new.manifest))
        return _with_latency(compare_runs(old, new), real_durations(old), new)
    suite = before.removeprefix(_PREFIX)
    if suite != new.manifest.suite:
        raise UsageError(f"run {new.manifest.run!r} is of the suite {new.manifest.suite!r}, not {suite!r}")
    baseline = read_baseline(project, suite)
    refuse_unusable(margins, (baseline.manifest, new.manifest))
    return _with_latency(compare_with_baseline(baseline, new), baseline.durations, new)


def _with_latency(comparison: Comparison, before: Mapping[str, float], after: RunFolder) -> Comparison:
    found = latency_change(before, real_durations(after)) if before else None
    return comparison.model_copy(update={"latency": found})


# Lists of runs and of trials.


class RunRow(Frozen):
    """One stored run. Trials of unknown success are in neither of the two counts."""

    run: str
    created: str
    """ISO 8601, UTC."""
    suite: str
    agent: str
    variables: dict[str, str] = {}
    """Values of the agent's variables."""
    release: str | None
    tool_mode: str
    planned: int
    """Planned trials."""
    scored: int
    """Trials with a scorecard."""
    succeeded: int
    failed: int


class FailedCheck(Frozen):
    """A check that a trial did not pass; `passed` is None where it is undecided."""

    check: str
    passed: bool | None
    reason: str


class Finding(Frozen):
    """A failure mode of a trial, without its evidence; `harness explain` shows that."""

    failure: Failure
    kind: str
    origin_step: int | None


class TrialRow(Frozen):
    """One trial of a run."""

    case_id: str
    attempt: int
    category: str
    outcome: Outcome
    success: bool | None
    reason: str | None
    """Why it was not measured, or which limit it reached."""
    failed_checks: tuple[FailedCheck, ...]
    findings: tuple[Finding, ...]


def run_rows(runs: Iterable[RunFolder], suite: str | None = None, last: int = 20) -> tuple[RunRow, ...]:
    """The latest `last` runs, of one suite where it is named, in order of their creation."""
    wanted = (run for run in runs if suite in (None, run.manifest.suite))
    return tuple(_run_row(run) for run in sorted(wanted, key=lambda run: run.manifest.created)[-last:])


def trial_rows(cards: Iterable[Scorecard], *, failed: bool = False) -> Iterator[TrialRow]:
    """The trials of a run in its order; with `failed`, those that are not known to have succeeded."""
    return (_trial_row(card) for card in cards if not (failed and card.success))


def _run_row(run: RunFolder) -> RunRow:
    manifest, counts = run.manifest, run.counts()
    return RunRow(
        run=manifest.run,
        created=manifest.created,
        suite=manifest.suite,
        agent=manifest.agent,
        variables=dict(manifest.variables),
        release=manifest.release,
        tool_mode=manifest.tool_mode,
        planned=len(manifest.planned),
        scored=counts.done,
        succeeded=counts.succeeded,
        failed=counts.failed,
    )


def _trial_row(card: Scorecard) -> TrialRow:
    return TrialRow(
        case_id=card.case_id,
        attempt=card.attempt,
        category=card.category,
        outcome=card.outcome,
        success=card.success,
        reason=card.reason,
        failed_checks=tuple(
            FailedCheck(check=one.check, passed=one.passed, reason=one.reason)
            for one in card.verdicts
            if one.passed is not True
        ),
        findings=tuple(
            Finding(failure=one.failure, kind=one.kind, origin_step=one.origin_step) for one in card.diagnoses
        ),
    )
