"""The gate `--no-worse-than`: compares figures with the baseline or with the run of `--against`."""

from pathlib import Path

from harness.case import Suite
from harness.cli.output.console import out
from harness.errors import ExitCode
from harness.pipeline import RunOptions
from harness.report import (
    compare_named,
    margin_lines,
    no_worse_than,
    refuse_malformed,
    refuse_unusable,
)
from harness.results import RunFolder, read_baseline, run_path


def check_margins(project: Path, suite: Suite, options: RunOptions) -> None:
    """Raises UsageError or NotMeasured before any trial starts if the gate could not be evaluated."""
    refuse_malformed(options.no_worse_than)
    if options.against is not None:
        manifest = RunFolder.open(run_path(project, options.against)).manifest
    else:
        manifest = read_baseline(project, suite.name, suite.digest).manifest
    refuse_unusable(options.no_worse_than, (manifest,))


def hold_margins(project: Path, folder: RunFolder, options: RunOptions) -> ExitCode:
    """Prints each figure with its margin; returns 0 better or at parity, 1 worse, 3 not determined."""
    before = options.against or f"baseline:{folder.manifest.suite}"
    comparison, repetitions = compare_named(project, before, folder.path, options.no_worse_than)
    checks = no_worse_than(comparison, options.no_worse_than, repetitions())
    console = out(quiet=options.as_json)
    for line in margin_lines(checks):
        console.print(f"gate: {line}", markup=False)
    return max(check.exit_code for check in checks)
