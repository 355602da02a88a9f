"""`harness runs`, `harness trials` and `harness trend`: stored runs listed."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import all_option, json_option, refuse_all
from harness.runs.store.folder import run_path

if TYPE_CHECKING:
    from harness.reports.named import TrialRow


# `harness runs`: lists the stored runs.


@click.command("runs")
@click.option("--suite", metavar="SUITE", help="Only runs of this suite.")
@click.option(
    "--last",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="Maximum number of runs; the latest are listed.",
)
@json_option
@click.pass_obj
def runs_command(project: Path, /, suite: str | None, last: int, as_json: bool) -> None:
    """List the stored runs; the latest is the last.

    \b
    harness runs
    harness runs --suite drive_thru --last 5 --json
    """
    from harness.cli.console import print_json
    from harness.reports.named import run_rows
    from harness.reports.render.wording import variable_words
    from harness.runs.store.baseline import runs_in

    rows = run_rows(runs_in(project / "runs"), suite, last)
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows])
        return
    for row in rows:
        release = f", release {row.release}" if row.release else ""
        variables = f" ({variable_words(row.variables)})" if row.variables else ""
        click.echo(f"{row.run}  {row.suite} {row.agent}{variables}{release}: {row.succeeded} of {row.scored} passed")
    if not rows:
        click.echo("no runs" if suite is None else f"no runs of {suite}")


# `harness trials`: lists the trials of a run with their failures.


@click.command("trials")
@click.argument("run")
@click.option("--failed", is_flag=True, help="Only trials that failed or whose success is unknown.")
@json_option
@click.pass_obj
def trials_command(project: Path, /, run: str, failed: bool, as_json: bool) -> None:
    """List the trials of the stored RUN with their failed checks and failure modes.

    \b
    harness trials tour-v1 --failed
    harness trials tour-v1 --failed --json

    `harness explain RUN CASE` shows one of them step by step.
    """
    from harness.cli.console import print_json_list
    from harness.reports.named import trial_rows
    from harness.runs.store.folder import RunFolder

    rows = trial_rows(RunFolder.open(run_path(project, run)).each_card(), failed=failed)
    if as_json:
        print_json_list(row.model_dump(mode="json") for row in rows)
        return
    for row in rows:
        _show(row)


def _show(row: "TrialRow") -> None:
    click.echo(f"{row.case_id}/{row.attempt}  {row.outcome}, {_WORDS[row.success]}")
    for one in row.failed_checks:
        click.echo(f"  check {one.check} {'failed' if one.passed is False else 'undecided'}: {one.reason[:200]}")
    for found in row.findings:
        where = "" if found.origin_step is None else f" at step {found.origin_step}"
        click.echo(f"  {found.failure.replace('_', ' ')} ({found.kind.replace('_', ' ')}){where}")


_WORDS = {True: "passed", False: "failed", None: "unknown"}


# `harness trend`: shows a suite over its releases.


@click.command("trend")
@click.argument("suite", required=False)
@click.option("--agent", metavar="NAME", help="Only runs of this version of the agent.")
@click.option("--last", type=click.IntRange(1, 100), default=6, show_default=True, help="Maximum number of releases.")
@click.option(
    "--fail-on-spike", is_flag=True, help="Exit 1 if a figure of the newest release of an agent and model is flagged."
)
@all_option
@json_option
@click.pass_context
def trend_command(
    ctx: click.Context,
    suite: str | None,
    agent: str | None,
    last: int,
    fail_on_spike: bool,
    everything: bool,
    as_json: bool,
) -> None:
    """Show metrics and failure modes of SUITE by release, a line for each agent and model, and flag changes.

    \b
    harness trend drive_thru
    harness trend drive_thru --agent v2 --last 3

    Only complete runs count: selections of cases, such as a run of those that failed, and interrupted runs are named
    and left out. Runs are pooled only if release, agent, model, variables and conditions are the same. Each release is
    tested against the shown earlier ones of the same agent and model after each of its runs. The significance levels
    of all these tests sum to 5 % over any number of releases and runs, so that repeated tests raise no more false
    alarms. A flagged release stays flagged. Notes below the tables give the number of worse cases at which the newest
    release would be flagged. A run that cannot be read is listed and left out. Default SUITE: the only one with runs.
    """
    from harness.cli.console import out, print_json
    from harness.errors import ExitCode
    from harness.reports.render.terminal import first_trend, trend_view
    from harness.reports.trend import suite_of, trend
    from harness.runs.store.baseline import opened_in

    refuse_all(ctx, "--json" if as_json else "terminal")
    project: Path = ctx.obj
    runs, unreadable = opened_in(project / "runs")
    found = trend(suite_of(runs, suite), runs, agent=agent, last=last, unreadable=unreadable)
    if as_json:
        print_json({**found.model_dump(mode="json"), "releases": list(found.releases)})
    else:
        out().print(trend_view(found) if everything else first_trend(found))
    ctx.exit(ExitCode.VERDICT if fail_on_spike and found.jumped else ExitCode.DONE)
