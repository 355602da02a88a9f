"""`harness drift`: compares the current answers of tools with their recordings."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.cli.console import print_json, say
from harness.cli.issue import FileOptions, file_look, file_option, refuse_unfiled
from harness.cli.options import (
    jobs_option,
    joined,
    model_options,
    refuse_typed,
    run_name,
    sandbox_option,
    selection_options,
)
from harness.cli.running import run_ungated
from harness.drift.check import DriftPlan, DriftResult, compare_run, learn_suite, probe_suite, suite_of
from harness.drift.flips import FlipPlan
from harness.drift.report_text import not_asked_lines, profile_lines, report_lines
from harness.errors import ExitCode, UsageError
from harness.reports.render.markdown import addresses_of
from harness.runs.plan.plan import RunOptions
from harness.runs.store.drift_report import DRIFT, DriftReport, read_drift
from harness.runs.store.folder import run_path
from harness.runs.trial.parallel import processors
from harness.sandbox.providers import ProviderName
from harness.suite.loading import load_suite
from harness.values import Frozen

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
    harness drift compare RUN --stored    show what was found, without sending requests

    A tool has drifted if it answers the same request differently. Requests that no recording contains are listed and
    never counted as drift.

    Exit status: 0 no breaking drift, 1 confirmed breaking drift, 2 usage, 3 a recorded call could not be probed.
    """


look_options = joined(
    click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool or `http:host`."),
    click.option("--no-flips", is_flag=True, help="Do not replay the cases to find the verdicts that change."),
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON."),
    file_option,
)
"""The options of every drift check."""


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

    running, looking = options_of_run(suite, typed)
    refuse_unfiled(ctx, file_too=looking.file_too)
    result, least = run_and_compare(ctx.obj, running, looking)
    ctx.exit(show_and_file(ctx.obj, result, looking, least))


@command.command("probe")
@click.argument("suite")
@_case
@_agent
@sandbox_option
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

    No agent and no model is needed. A changed answer counts after a second request confirms it. The cases are then
    replayed with the new answers to find the verdicts that change (see --no-flips).

    A live server that declares `reset:` is reset first, as before a trial. Reads that were recorded after writes are
    sent after the same writes, but only to restored services of the environment and to live servers that are
    `disposable` and declare a `reset:`, which are reset before and after. No other server receives writes. Reads that
    could not be sent, or were not answered, are counted as "not probed", and the exit status is 3.
    """

    looking = DriftCheckOptions.model_validate(typed)
    refuse_unfiled(ctx, file_too=looking.file_too)
    plan = _plan(ctx.obj, suite, looking, f"harness drift probe {suite}", name=looking.run_name)
    ctx.exit(show_and_file(ctx.obj, probe_suite(plan), looking))


@command.command("compare")
@click.argument("run")
@_case
@_agent
@sandbox_option
@click.option(
    "--confirm", is_flag=True, help="Send reads whose answer changed to the real tools again, as confirmation."
)
@click.option("--stored", is_flag=True, help="Show the report that RUN, a run or a probe, has, and compare nothing.")
@look_options
@click.pass_context
def compare(ctx: click.Context, /, run: str, **typed: object) -> None:
    """Compare the tools' answers in the stored live RUN with the recordings.

    \b
    harness run drive_thru --live tools --run-name nightly --trials 2
    harness drift compare nightly
    harness drift compare nightly --stored --json

    A change counts if two answers show it: in two cases, in two trials, or in a repeated call with --confirm.
    """

    looking = DriftCheckOptions.model_validate(typed)
    if looking.stored:
        refuse_typed(ctx, typed.keys() - {"stored", "as_json"}, "--stored")
        show_report(read_drift(run_path(ctx.obj, run)), as_json=looking.as_json)
        return
    refuse_unfiled(ctx, file_too=looking.file_too)
    ctx.exit(show_and_file(ctx.obj, compare_stored(ctx.obj, run_path(ctx.obj, run), looking), looking))


@command.command("learn")
@click.argument("suite")
@_case
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool or `http:host`.")
@click.option("--accept", is_flag=True, help="Accept the profiles as complete now, without samples of further days.")
@click.pass_context
def learn(ctx: click.Context, /, suite: str, **typed: object) -> None:
    """Learn which values of the tools of SUITE change by themselves, and which members come and go.

    \b
    harness drift learn drive_thru               on several days, while the tools answer correctly
    harness drift learn drive_thru --accept      once, and accept the result as complete

    The profiles are stored next to the cassettes, in profiles/. A value counts as constant after three equal samples on
    two days; only then a different value is drift. Each read is sent three times.
    """

    learn_tools(ctx.obj, suite, DriftCheckOptions.model_validate(typed))


# Carries out `harness drift` and prints what it found.


class DriftCheckOptions(Frozen):
    """The options of one drift check, before validation."""

    cases: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    agent: str | None = None
    sandbox: ProviderName = "docker"
    run_name: str | None = None
    no_flips: bool = False
    no_learn: bool = False
    confirm: bool = False
    stored: bool = False
    accept: bool = False
    as_json: bool = False
    file_too: bool = False
    tracker: str | None = None


_SHARED = {"cases", "agent", "sandbox", "run_name"}
"""Fields that the options of a run have too."""


def options_of_run(suite: str, typed: Mapping[str, object]) -> tuple[RunOptions, DriftCheckOptions]:
    """The options of `harness drift run`: those of its run, and those of the comparison."""
    look = {name: value for name, value in typed.items() if name in DriftCheckOptions.model_fields}
    run = {name: value for name, value in typed.items() if name not in look or name in _SHARED}
    return RunOptions.model_validate({"suite": suite, "tools": "live", **run}), DriftCheckOptions.model_validate(look)


def run_and_compare(project: Path, running: RunOptions, options: DriftCheckOptions) -> tuple[DriftResult, ExitCode]:
    """Compares the live run; also returns the lowest exit status that the run itself requires."""
    folder = run_ungated(project, running)
    failed = [card for card in folder.cards() if card.outcome == "harness_failed"]
    if failed:
        say(f"{len(failed)} trials could not be run, so the answers to their calls are unknown")
    plan = _plan(project, folder.manifest.suite, options, f"harness drift {folder.manifest.suite}")
    return compare_run(plan, folder.path, confirm=True), ExitCode.COULD_NOT if failed else ExitCode.DONE


def compare_stored(project: Path, run: Path, options: DriftCheckOptions) -> DriftResult:
    """`harness drift compare`."""
    if not run.is_dir():
        raise UsageError(f"there is no run {run.name!r}", remedy="see runs/")
    suite = suite_of(project, run).folder.name
    # The answers of a stored run are not a new sample, however often they are compared.
    looking = options.model_copy(update={"no_learn": True})
    plan = _plan(project, suite, looking, f"harness drift compare {run.name}")
    return compare_run(plan, run, confirm=options.confirm)


def learn_tools(project: Path, suite: str, options: DriftCheckOptions) -> None:
    """`harness drift learn`."""
    plan = _plan(project, suite, options.model_copy(update={"no_flips": True}), f"harness drift learn {suite}")
    for profile in learn_suite(plan, accept=options.accept):
        for line in profile_lines(profile):
            click.echo(line)


def show_and_file(
    project: Path, result: DriftResult, options: DriftCheckOptions, at_least: ExitCode = ExitCode.DONE
) -> ExitCode:
    """Prints the result, files it where `--file` is set, and returns the exit status."""
    code = show_examined(result, as_json=options.as_json, at_least=at_least)
    if not options.file_too:
        return code
    filing = FileOptions(tracker=options.tracker, beside=options.as_json)
    return max(code, file_look(project, result.report, filing))


def show_examined(result: DriftResult, *, as_json: bool, at_least: ExitCode = ExitCode.DONE) -> ExitCode:
    """Prints the result, and returns the exit status."""
    report = result.report
    show_report(report, as_json=as_json)
    if not as_json:
        restored = f" ({report.after_writes} after writes, {report.restores} restores)" if report.restores else ""
        click.echo(f"{report.compared} recorded calls compared{restored}  {result.folder / DRIFT}")
    found = exit_code(result)
    return found if found == ExitCode.VERDICT else max(found, at_least)


def show_report(report: DriftReport, *, as_json: bool) -> None:
    """Prints the findings of a check."""
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    for line in (*report_lines(report), *not_asked_lines(report.not_asked)):
        click.echo(line)


def exit_code(result: DriftResult) -> ExitCode:
    """The exit status: 1 for a breaking change, 3 if something could not be probed, else 0."""
    if any(finding.severity == "breaking" for finding in result.report.findings):
        return ExitCode.VERDICT
    return ExitCode.DONE if result.complete else ExitCode.COULD_NOT


def _plan(project: Path, suite: str, options: DriftCheckOptions, command: str, name: str | None = None) -> DriftPlan:
    loaded = load_suite(project, suite)
    words = [f"--case {case}" for case in options.cases] + [f"--tool {tool}" for tool in options.tools]
    flips = FlipPlan(
        project=project,
        suite=loaded,
        agent=options.agent,
        sandbox=options.sandbox,
        jobs=processors(),
        say=say,
    )
    return DriftPlan(
        project=project,
        suite=loaded,
        cases=options.cases,
        tools=options.tools,
        flips=None if options.no_flips else flips,
        learn=not options.no_learn,
        name=name,
        command=" ".join([command, *words]),
        pages=next((url for _, url in addresses_of(os.environ)), None),
        say=say,
    )
