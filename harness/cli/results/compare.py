"""`harness compare`: compares two runs, case by case."""

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
    type=click.Choice(["terminal", "markdown", "comment", "json"]),
    default="terminal",
    show_default=True,
    help="Format of the comparison; `comment`: Markdown for a pull request, with the figures first.",
)
@click.option(
    "--no-worse-than",
    "margins",
    multiple=True,
    metavar="METRIC=MARGIN",
    help="Test whether AFTER is worse by more than MARGIN; for amounts also a percentage, as in cost_usd=10%"
    " (repeatable).",
)
@click.option(
    "--migration",
    is_flag=True,
    help="Print a page about a change of the base model: success, rubrics, cost and latency by margin, and the"
    " failure modes"
    " that appeared.",
)
@click.pass_context
def command(
    ctx: click.Context,
    before: str,
    after: str,
    form: Literal["terminal", "markdown", "comment", "json"],
    margins: tuple[str, ...],
    migration: bool,
) -> None:
    """Show what changed from the run BEFORE (or `baseline:SUITE`) to the run AFTER, paired by case and attempt.

    \b
    harness compare tour-v1 tour-v2
    harness compare tour-v1 tour-v2 --format markdown
    harness compare tour-v1 tour-v2 --no-worse-than task_success=0.05 --no-worse-than cost_usd=10%
    harness compare baseline:drive_thru tour-v2
    harness compare --migration old-model new-model --no-worse-than task_success=0.02

    Runs of different suites, or scored by different versions of a verifier, are not compared: the difference would have
    no meaning.

    Exit status with --no-worse-than or --migration: 0 better or at parity, 1 worse, 3 not determined.
    """
    if migration:
        from harness.cli.results.migration import compare_for_migration

        ctx.exit(compare_for_migration(ctx.obj, before, after, form, margins))
    from harness.cli.output.console import out
    from harness.cli.results.showing import show_comparison
    from harness.errors import ExitCode
    from harness.report import (
        comment_markdown,
        compare_named,
        comparison_json,
        comparison_markdown,
        margin_lines,
        no_worse_than,
    )

    project: Path = ctx.obj
    comparison, repetitions = compare_named(project, before, run_path(project, after), margins)
    checks = no_worse_than(comparison, margins, repetitions()) if margins else []
    match form:
        case "terminal":
            show_comparison(out(), comparison)
        case "markdown":
            click.echo(comparison_markdown(comparison), nl=False)
        case "comment":
            click.echo(comment_markdown(comparison, checks), nl=False)
        case "json":
            click.echo(comparison_json(comparison, checks), nl=False)
    if form not in ("comment", "json"):
        for line in margin_lines(checks):
            click.echo(line)
    ctx.exit(max((check.exit_code for check in checks), default=ExitCode.DONE))
