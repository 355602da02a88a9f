"""Comparisons with a baseline, for the verbs that take one."""

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.case import Suite
from harness.cli.console import out
from harness.cli.options import run_path
from harness.cli.showing import show_baseline_gate, show_comparison
from harness.errors import ExitCode, UsageError
from harness.report import (
    Comparison,
    compare_runs,
    compare_with_baseline,
    hold_against,
    refuse_unusable,
    repetitions_of,
)
from harness.results import RunFolder, read_baseline

_PREFIX = "baseline:"


def compared(
    project: Path, before: str, after: Path, margins: Sequence[str] = ()
) -> tuple[Comparison, Callable[[], list[RunFolder]]]:
    """The run `before`, or a suite's baseline, and the run `after`; and where repetitions of the two are.

    Raises UsageError for `margins` that the two cannot be held to, before anything is compared.
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


def check_baseline(project: Path, suite: Suite) -> None:
    """Raises NotMeasured where the suite as it is now has no baseline."""
    read_baseline(project, suite.name, suite.digest)


def hold(project: Path, folder: RunFolder, *, allow_unmeasured: int, quiet: bool) -> ExitCode:
    """Shows the run beside its baseline (`quiet`: not), and whether the gate holds."""
    console = out(quiet=quiet)
    baseline = read_baseline(project, folder.manifest.suite)
    comparison = compare_with_baseline(baseline, folder)
    if not quiet:
        show_comparison(console, comparison)
    gate = hold_against(baseline, folder, comparison, allow_unmeasured)
    show_baseline_gate(console, gate)
    return gate.exit_code
