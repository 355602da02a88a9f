"""`harness trend`: shows a suite over its releases."""

from pathlib import Path
from typing import Literal

import click


@click.command("trend")
@click.argument("suite", required=False)
@click.option("--agent", metavar="NAME", help="Only runs of this version of the agent.")
@click.option("--last", type=click.IntRange(1, 100), default=6, show_default=True, help="Maximum number of releases.")
@click.option("--fail-on-spike", is_flag=True, help="Exit 1 if a figure of the newest release is flagged.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "json"]),
    default="terminal",
    show_default=True,
    help="Format of the trend.",
)
@click.pass_context
def command(
    ctx: click.Context,
    suite: str | None,
    agent: str | None,
    last: int,
    fail_on_spike: bool,
    form: Literal["terminal", "markdown", "json"],
) -> None:
    """Show metrics and failure modes of SUITE by release, from the stored runs, and flag changes.

    \b
    harness trend drive_thru
    harness trend drive_thru --agent v2 --last 3

    Each release is tested against the shown earlier ones after each of its runs. The significance levels of all tests
    sum to 5 % over any number of releases and runs, so that repeated tests raise no more false alarms. A flagged
    release stays flagged. Notes below the tables give the number of worse cases at which the newest release would be
    flagged. A run that cannot be read is listed and left out. Default SUITE: the only one that has runs.
    """
    from harness.cli.output.console import out, print_json
    from harness.cli.results.showing import show_trend
    from harness.errors import ExitCode
    from harness.report import suite_of, trend_markdown
    from harness.report.comparison.trend import trend
    from harness.results import damaged_in, runs_in

    project: Path = ctx.obj
    runs = runs_in(project / "runs")
    unreadable = damaged_in(project / "runs")
    found = trend(suite_of(runs, suite), runs, agent=agent, last=last, unreadable=unreadable)
    match form:
        case "terminal":
            show_trend(out(), found)
        case "markdown":
            click.echo(trend_markdown(found), nl=False)
        case "json":
            print_json(found.model_dump(mode="json"))
    newest = found.releases[-1].name
    jumped = any(point.release == newest for _, point in found.spikes)
    ctx.exit(ExitCode.VERDICT if fail_on_spike and jumped else ExitCode.DONE)
