"""`harness trend`: a suite over its releases."""

from pathlib import Path
from typing import Literal

import click


@click.command("trend")
@click.argument("suite", required=False)
@click.option("--agent", metavar="NAME", help="Only runs of this version of the agent.")
@click.option("--last", type=click.IntRange(1, 100), default=6, show_default=True, help="Releases that are shown.")
@click.option("--fail-on-spike", is_flag=True, help="Exit 1 where the newest release has a figure that jumped.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "json"]),
    default="terminal",
    show_default=True,
    help="Form of the trend.",
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
    """Show metrics and failure modes of SUITE release by release, from the stored runs, and flag what jumped.

    \b
    harness trend drive_thru
    harness trend drive_thru --agent v2 --last 3

    Each release is tested against the earlier ones shown, after each of its runs, at its part of 5 %: the parts sum to
    5 % over any number of releases and runs, so that looking at every one of them raises no more false alarms. A
    release that was flagged once stays flagged. The notes below the tables say from how
    many worse cases the newest release would be flagged. Without SUITE: the only one that has runs.
    """
    from harness.cli.console import out, print_json
    from harness.cli.showing import show_trend
    from harness.errors import ExitCode
    from harness.report import suite_of, trend_markdown
    from harness.report.trend import trend
    from harness.results import runs_in

    project: Path = ctx.obj
    runs = runs_in(project / "runs")
    found = trend(suite_of(runs, suite), runs, agent=agent, last=last)
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
