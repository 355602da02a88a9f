"""Compares two runs, or a baseline and a run, given by name."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.errors import UsageError
from harness.report.comparison.baseline import compare_with_baseline
from harness.report.comparison.change import latency_change
from harness.report.comparison.compare import Comparison, compare_runs
from harness.report.comparison.margin import refuse_unusable, repetitions_of
from harness.results import RunFolder, read_baseline, real_durations, run_path

_PREFIX = "baseline:"


def compare_named(
    project: Path, before: str, after: Path, margins: Sequence[str] = ()
) -> tuple[Comparison, Callable[[], list[RunFolder]]]:
    """Compares the run `before`, or a suite's baseline, with the run `after`; also returns a function that finds
    repetitions of the two.

    Raises UsageError for `margins` that do not apply to the two, before the comparison.
    """
    new = RunFolder.open(after)
    if not before.startswith(_PREFIX):
        old = RunFolder.open(run_path(project, before))
        refuse_unusable(margins, (old.manifest, new.manifest))
        comparison = _with_latency(compare_runs(old, new), real_durations(old), new)
        return comparison, lambda: repetitions_of(comparison, old, new)
    suite = before.removeprefix(_PREFIX)
    if suite != new.manifest.suite:
        raise UsageError(f"run {new.manifest.run!r} is of the suite {new.manifest.suite!r}, not {suite!r}")
    baseline = read_baseline(project, suite)
    refuse_unusable(margins, (baseline.manifest, new.manifest))
    with_baseline = _with_latency(compare_with_baseline(baseline, new), baseline.durations, new)
    return with_baseline, lambda: repetitions_of(with_baseline, new, new)


def _with_latency(comparison: Comparison, before: Mapping[str, float], after: RunFolder) -> Comparison:
    found = latency_change(before, real_durations(after)) if before else None
    return comparison.model_copy(update={"latency": found})
