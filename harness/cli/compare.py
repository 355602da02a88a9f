"""`harness compare`: two runs, case by case."""

from pathlib import Path
from typing import Literal

import click

from harness.results import run_path


@click.command("compare")
@click.argument("before")
@click.argument("after")
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "json"]),
    default="terminal",
    show_default=True,
    help="Form of the comparison.",
)
@click.option(
    "--no-worse-than",
    "margins",
    multiple=True,
    metavar="METRIC=MARGIN",
    help="Say whether AFTER is better, at parity, worse or cannot be told; repeatable.",
)
@click.pass_context
def command(
    ctx: click.Context,
    before: str,
    after: str,
    form: Literal["terminal", "markdown", "json"],
    margins: tuple[str, ...],
) -> None:
    """Show what changed from the run BEFORE (or `baseline:SUITE`) to the run AFTER, paired by case and attempt.

    \b
    harness compare tour-v1 tour-v2
    harness compare tour-v1 tour-v2 --format markdown
    harness compare tour-v1 tour-v2 --no-worse-than task_success=0.05
    harness compare baseline:drive_thru tour-v2

    Runs of unlike suites, or scored by unlike versions, are refused: their difference would say nothing.

    Exit status with --no-worse-than: 0 better or at parity, 1 worse, 3 cannot tell.
    """
    from harness.cli.console import out
    from harness.cli.showing import show_comparison
    from harness.errors import ExitCode
    from harness.report import compare_named, comparison_json, comparison_markdown, margin_lines, no_worse_than

    project: Path = ctx.obj
    comparison, repetitions = compare_named(project, before, run_path(project, after), margins)
    checks = no_worse_than(comparison, margins, repetitions()) if margins else []
    match form:
        case "terminal":
            show_comparison(out(), comparison)
        case "markdown":
            click.echo(comparison_markdown(comparison), nl=False)
        case "json":
            click.echo(comparison_json(comparison, checks), nl=False)
    if form != "json":
        for line in margin_lines(checks):
            click.echo(line)
    ctx.exit(max((check.exit_code for check in checks), default=ExitCode.DONE))
