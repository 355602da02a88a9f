"""Two runs, or a baseline and a run, named as people name them, compared."""

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.errors import UsageError
from harness.report.baseline import compare_with_baseline
from harness.report.compare import Comparison, compare_runs
from harness.report.margin import refuse_unusable, repetitions_of
from harness.results import RunFolder, read_baseline, run_path

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
        comparison = compare_runs(old, new)
        return comparison, lambda: repetitions_of(comparison, old, new)
    suite = before.removeprefix(_PREFIX)
    if suite != new.manifest.suite:
        raise UsageError(f"run {new.manifest.run!r} is of the suite {new.manifest.suite!r}, not {suite!r}")
    baseline = read_baseline(project, suite)
    refuse_unusable(margins, (baseline.manifest, new.manifest))
    with_baseline = compare_with_baseline(baseline, new)
    return with_baseline, lambda: repetitions_of(with_baseline, new, new)
