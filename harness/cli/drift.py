"""`harness drift`: do the tools still answer as they were recorded?"""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from harness.cli.issue import file_option
from harness.cli.options import jobs_option, run_name, sandbox_option, selection_options
from harness.cli.spending import model_options
from harness.results import run_path

Verb = TypeVar("Verb", bound=Callable[..., Any])


class DriftVerbs(click.Group):
    """A word that is not a verb names a suite: `harness drift SUITE` is `harness drift run SUITE`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Adds the default verb."""
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
    harness drift learn drive_thru        learn which values change by themselves

    A tool that answers the same request otherwise has drifted. An agent that asks something else has not made it drift:
    that is listed and never counted.

    Exit status: 0 no breaking drift, 1 breaking drift is confirmed, 2 usage, 3 a tool could not be looked at.
    """


def look_options(verb: Verb) -> Verb:
    """The options of every drift check."""
    for option in reversed(
        (
            click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool or `http:host`."),
            click.option(
                "--rate",
                "per_s",
                type=click.IntRange(1, 1000),
                default=10,
                show_default=True,
                help="Calls a second to somebody else's server, at most; a tool's own rate limit holds too.",
            ),
            click.option("--no-flips", is_flag=True, help="Do not replay the cases to see which verdicts change."),
            click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
        )
    ):
        verb = option(verb)
    return file_option(verb)


_no_learn = click.option("--no-learn", is_flag=True, help="Leave the profiles of the tools as they are.")
_case = click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case (repeatable).")
_agent = click.option("--agent", metavar="NAME", help="The version of the agent whose verdicts are looked at.")


@command.command("run")
@click.argument("suite")
@click.option("--agent", metavar="NAME", help="A version of the suite's agent.")
@model_options
@sandbox_option
@selection_options
@click.option(
    "--trials",
    type=click.IntRange(1, 1000),
    default=2,
    show_default=True,
    help="Attempts a case. A write is never sent again: only a second attempt confirms what it answered.",
)
@click.option(
    "--run-name", callback=run_name, metavar="NAME", help="Name of the run folder; a name that exists is refused."
)
@jobs_option
@_no_learn
@look_options
@click.pass_context
def run(ctx: click.Context, /, suite: str, **options: Any) -> None:
    """Run the cases of SUITE live, and compare every answer with its recording.

    \b
    harness drift drive_thru
    harness drift drive_thru --case order-correctness-000 --trials 3

    Reads whose answer changed are sent again before they count; writes count where two trials show the change.
    """
    from harness.cli.drifting import run_and_compare, show_and_file

    looked, least = run_and_compare(ctx.obj, suite, options)
    ctx.exit(show_and_file(ctx.obj, looked, options, least))


@command.command("probe")
@click.argument("suite")
@_case
@_agent
@sandbox_option
@click.option(
    "--samples",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="How often each read is sent. A release that answers only part of the calls shows in repeats.",
)
@click.option("--run-name", callback=run_name, metavar="NAME", help="Name of the folder in runs/.")
@_no_learn
@look_options
@click.pass_context
def probe(ctx: click.Context, /, suite: str, **options: Any) -> None:
    """Send the reads that SUITE has recorded to the real tools again, and compare.

    \b
    harness drift probe drive_thru
    harness drift probe drive_thru --tool lookup_menu_item --json
    harness drift probe drive_thru --samples 3

    No agent and no model is needed. What changed is asked again before it counts; where something did, the cases are
    replayed with the new answers to see which verdicts change (see --no-flips).

    Reads after writes are sent after the same writes, to services of the environment, restored for that, and to live
    servers that are `disposable` and declare a `reset:`, which are reset before and after. No other server is written
    to; the reads that this leaves out are counted.
    """
    from harness.cli.drifting import probe_and_compare, show_and_file

    ctx.exit(show_and_file(ctx.obj, probe_and_compare(ctx.obj, suite, options), options))


@command.command("compare")
@click.argument("run")
@_case
@_agent
@sandbox_option
@click.option("--confirm", is_flag=True, help="Send reads whose answer changed to the real tools again.")
@look_options
@click.pass_context
def compare(ctx: click.Context, /, run: str, **options: Any) -> None:
    """Compare what the tools of a live RUN answered with the recordings.

    \b
    harness run drive_thru --tools live --run-name nightly --trials 2
    harness drift compare nightly

    A change counts where two answers show it: of two cases, of two trials, or with --confirm of the same call again.
    """
    from harness.cli.drifting import compare_stored, show_and_file

    ctx.exit(show_and_file(ctx.obj, compare_stored(ctx.obj, run_path(ctx.obj, run), options), options))


@command.command("learn")
@click.argument("suite")
@_case
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool or `http:host`.")
@click.option(
    "--samples", type=click.IntRange(1, 100), default=3, show_default=True, help="How often each read is sent."
)
@click.option("--rate", "per_s", type=click.IntRange(1, 1000), default=10, show_default=True, help="Calls a second.")
@click.option("--accept", is_flag=True, help="Take what is known now as all there is: no further days are needed.")
@click.pass_context
def learn(ctx: click.Context, /, suite: str, **options: Any) -> None:
    """Learn which values of the tools of SUITE change by themselves, and which members come and go.

    \b
    harness drift learn drive_thru               on several days, while the tools answer as they should
    harness drift learn drive_thru --accept      or once, and say that this is how they are

    What is learned lies beside the cassettes, in profiles/. A value that never changed counts as steady after three
    samples on two days: only then is another value drift.
    """
    from harness.cli.drifting import learn_tools

    learn_tools(ctx.obj, suite, options)
