"""Comparisons with a baseline, for the verbs that take one."""

from pathlib import Path

from harness.case import Suite
from harness.cli.output.console import out
from harness.cli.results.showing import show_baseline_gate, show_comparison
from harness.errors import ExitCode
from harness.report import compare_with_baseline, hold_against
from harness.results import RunFolder, read_baseline


def check_baseline(project: Path, suite: Suite) -> None:
    """Raises NotMeasured if the current suite has no baseline."""
    read_baseline(project, suite.name, suite.digest)


def hold(project: Path, folder: RunFolder, *, allow_unmeasured: int, quiet: bool) -> ExitCode:
    """Prints the comparison with the baseline, unless `quiet`; returns whether the gate holds."""
    console = out(quiet=quiet)
    baseline = read_baseline(project, folder.manifest.suite)
    comparison = compare_with_baseline(baseline, folder)
    if not quiet:
        show_comparison(console, comparison)
    gate = hold_against(baseline, folder, comparison, allow_unmeasured)
    show_baseline_gate(console, gate)
    return gate.exit_code
