"""`harness drift`: compares the current answers of tools with their recordings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.cli.drift.issue import file_option
from harness.cli.options import jobs_option, run_name, sandbox_option, selection_options
from harness.cli.run.spending import model_options
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
    """Find tools whose current answers differ from their recordings.

    \b
    harness drift probe drive_thru        send the recorded reads again, without an agent
    harness drift drive_thru              run the cases live, and compare every answer
    harness drift compare RUN             compare the answers of a stored live run
    harness drift learn drive_thru        learn which values change by themselves
    harness drift show RUN                show stored findings, without sending requests

    A tool has drifted if it answers the same request differently. Requests that no recording contains are listed and
    never counted as drift.

    Exit status: 0 no breaking drift, 1 confirmed breaking drift, 2 usage, 3 a tool could not be checked.
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
                help="Maximum number of calls per second to an external server; the tool's own rate limit applies too.",
            ),
            click.option("--no-flips", is_flag=True, help="Do not replay the cases to find the verdicts that change."),
            click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
        )
    ):
        verb = option(verb)
    return file_option(verb)


_no_learn = click.option("--no-learn", is_flag=True, help="Do not update the profiles of the tools.")
_case = click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case (repeatable).")
_agent = click.option("--agent", metavar="NAME", help="Version of the agent whose verdicts are replayed.")


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
    help="Attempts per case. Writes are never sent again: only a second attempt can confirm a changed answer of a"
    " write.",
)
@click.option(
    "--run-name", callback=run_name, metavar="NAME", help="Name of the run folder; a name that exists is refused."
)
@jobs_option
@_no_learn
@look_options
@click.pass_context
def run(ctx: click.Context, /, suite: str, **typed: object) -> None:
    """Run the cases of SUITE live, and compare every answer with its recording.

    \b
    harness drift drive_thru
    harness drift drive_thru --case order-correctness-000 --trials 3

    A changed answer of a read counts after a second request confirms it, that of a write if two trials show it.
    """
    from harness.cli.drift.drifting import options_of_run, run_and_compare, show_and_file

    running, looking = options_of_run(suite, typed)
    result, least = run_and_compare(ctx.obj, running, looking)
    ctx.exit(show_and_file(ctx.obj, result, looking, least))


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
    help="Number of times each read is sent. Repeats reveal a release that serves only part of the calls.",
)
@click.option(
    "--run-name", callback=run_name, metavar="NAME", help="Name of the folder in runs/ that stores the result."
)
@_no_learn
@look_options
@click.pass_context
def probe(ctx: click.Context, /, suite: str, **typed: object) -> None:
    """Send the reads that SUITE has recorded to the real tools again, and compare.

    \b
    harness drift probe drive_thru
    harness drift probe drive_thru --tool lookup_menu_item --json
    harness drift probe drive_thru --samples 3

    No agent and no model is needed. A changed answer counts after a second request confirms it. The cases are then
    replayed with the new answers to find the verdicts that change (see --no-flips).

    Reads that were recorded after writes are sent after the same writes, but only to restored services of the
    environment and to live servers that are `disposable` and declare a `reset:`, which are reset before and after. No
    other server receives writes; the reads that are left out are counted.
    """
    from harness.cli.drift.drifting import DriftCheckOptions, probe_and_compare, show_and_file

    looking = DriftCheckOptions.model_validate(typed)
    ctx.exit(show_and_file(ctx.obj, probe_and_compare(ctx.obj, suite, looking), looking))


@command.command("compare")
@click.argument("run")
@_case
@_agent
@sandbox_option
@click.option(
    "--confirm", is_flag=True, help="Send reads whose answer changed to the real tools again, as confirmation."
)
@look_options
@click.pass_context
def compare(ctx: click.Context, /, run: str, **typed: object) -> None:
    """Compare the tools' answers in the stored live RUN with the recordings.

    \b
    harness run drive_thru --tools live --run-name nightly --trials 2
    harness drift compare nightly

    A change counts if two answers show it: in two cases, in two trials, or in a repeated call with --confirm.
    """
    from harness.cli.drift.drifting import DriftCheckOptions, compare_stored, show_and_file

    looking = DriftCheckOptions.model_validate(typed)
    ctx.exit(show_and_file(ctx.obj, compare_stored(ctx.obj, run_path(ctx.obj, run), looking), looking))


@command.command("learn")
@click.argument("suite")
@_case
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool or `http:host`.")
@click.option(
    "--samples", type=click.IntRange(1, 100), default=3, show_default=True, help="Number of times each read is sent."
)
@click.option(
    "--rate",
    "per_s",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="Maximum number of calls per second.",
)
@click.option("--accept", is_flag=True, help="Accept the profiles as complete now, without samples of further days.")
@click.pass_context
def learn(ctx: click.Context, /, suite: str, **typed: object) -> None:
    """Learn which values of the tools of SUITE change by themselves, and which members come and go.

    \b
    harness drift learn drive_thru               on several days, while the tools answer correctly
    harness drift learn drive_thru --accept      once, and accept the result as complete

    The profiles are stored next to the cassettes, in profiles/. A value counts as constant after three equal samples on
    two days; only then a different value is drift.
    """
    from harness.cli.drift.drifting import DriftCheckOptions, learn_tools

    learn_tools(ctx.obj, suite, DriftCheckOptions.model_validate(typed))


@command.command("show")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_obj
def show(project: Path, /, run: str, as_json: bool) -> None:
    """Show the drift that was found in RUN, a run or a probe, without sending requests.

    \b
    harness drift show nightly
    harness drift show nightly --json
    """
    from harness.cli.output.console import print_json
    from harness.drift import not_asked_lines, report_lines
    from harness.results import read_drift

    report = read_drift(run_path(project, run))
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    for line in (*report_lines(report), *not_asked_lines(report.not_asked)):
        click.echo(line)
