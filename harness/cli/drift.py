"""`harness drift`: do the tools still answer as they were recorded?"""

from pathlib import Path
from typing import Any

import click

from harness.cli.issue import file_option
from harness.cli.options import run_path


class DriftVerbs(click.Group):
    """What is no verb is a suite: `harness drift SUITE` is `harness drift run SUITE`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Puts the verb that goes without saying in front."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["run", *args]
        return super().resolve_command(ctx, args)


@click.group("drift", cls=DriftVerbs)
def command() -> None:
    """Say where the tools answer otherwise than their recordings.

    \b
    harness drift probe drive_thru        send the recorded reads again, without an agent
    harness drift drive_thru              run the cases live, and compare every answer
    harness drift compare RUN             compare what a live run was answered

    A tool that answers the same request otherwise has drifted. An agent that asks something else has not made it drift:
    that is listed and never counted.

    Exit status: 0 no breaking drift, 1 breaking drift is confirmed, 2 usage, 3 a tool could not be looked at.
    """


@command.command("probe")
@click.argument("suite")
@click.option("--case", "cases", multiple=True, metavar="ID", help="Only what this case recorded (repeatable).")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool or `http:host` (repeatable).")
@click.option(
    "--rate",
    "per_s",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="Calls a second to somebody else's server, at most; a tool's own rate limit holds too.",
)
@click.option("--run-name", metavar="NAME", help="Name of the folder in runs/.")
@file_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def probe(ctx: click.Context, /, suite: str, **options: Any) -> None:
    """Send the reads that SUITE has recorded to the real tools again, and compare.

    \b
    harness drift probe drive_thru
    harness drift probe drive_thru --tool lookup_menu_item --json

    No agent and no model is needed, and nothing is ever written. What changed is asked again before it counts.
    """
    from harness.cli.drifting import probe_options, show_and_file

    ctx.exit(show_and_file(ctx.obj, probe_options(ctx.obj, suite, options), options))


@command.command("compare")
@click.argument("run")
@click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case (repeatable).")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool or `http:host` (repeatable).")
@click.option("--confirm", is_flag=True, help="Send reads whose answer changed to the real tools again.")
@file_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def compare(ctx: click.Context, /, run: str, **options: Any) -> None:
    """Compare what the tools of a live RUN answered with the recordings.

    \b
    harness run drive_thru --tools live --run-name nightly --trials 2
    harness drift compare nightly

    A change counts where two answers show it: of two cases, of two trials, or with --confirm of the same call again.
    """
    from harness.cli.drifting import compare_options, show_and_file

    project: Path = ctx.obj
    ctx.exit(show_and_file(project, compare_options(project, run_path(project, run), options), options))
