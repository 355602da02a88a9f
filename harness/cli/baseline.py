"""`harness baseline`: the results that changes are compared with."""

from pathlib import Path

import click

from harness.results import run_path


@click.group("baseline")
def command() -> None:
    """Keep a run's scorecards as what later runs are held against: baselines/<suite>.json, small, to be committed."""


@command.command("set")
@click.argument("run")
@click.option("--allow-unmeasured", type=click.IntRange(0), default=0, help="Trials that the run may miss.")
@click.pass_obj
def set_command(project: Path, run: str, allow_unmeasured: int) -> None:
    """Make the stored RUN the baseline of its suite.

    \b
    harness run drive_thru --run-name good
    harness baseline set good
    git add baselines/drive_thru.json
    """
    from harness.results import RunFolder, baseline_of, write_baseline

    baseline = baseline_of(RunFolder.open(run_path(project, run)), allow_unmeasured)
    click.echo(write_baseline(project, baseline))


@command.command("show")
@click.argument("suite")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_obj
def show_command(project: Path, suite: str, as_json: bool) -> None:
    """Show the baseline of SUITE, and say whether it is of the suite as it is now.

    \b
    harness baseline show drive_thru

    Exit status: 3 where there is none, or one of another suite.
    """
    from harness.case import load_suite
    from harness.cli.console import out, print_json
    from harness.cli.showing import show_summary
    from harness.report import summarise
    from harness.results import read_baseline

    baseline = read_baseline(project, suite, load_suite(project, suite).digest)
    summary = summarise(baseline.manifest, baseline.scorecards)
    if as_json:
        print_json(summary.model_dump(mode="json"))
    else:
        show_summary(out(), summary, None)
