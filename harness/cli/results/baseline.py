"""`harness baseline`: the results that changes are compared with."""

from pathlib import Path

import click

from harness.results import run_path


@click.group("baseline")
def command() -> None:
    """Store a run's scorecards in baselines/<suite>.json, which you commit and later runs are compared with."""


@command.command("set")
@click.argument("run")
@click.option(
    "--allow-unmeasured",
    type=click.IntRange(0),
    default=0,
    help="Maximum number of trials that may be missing from the run.",
)
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
    """Show the baseline of SUITE, and whether it belongs to the current suite, verifiers, metrics and detectors.

    \b
    harness baseline show drive_thru

    The exit status is 3 if there is no baseline, or if it belongs to another state of the suite.
    """
    from harness.case import load_suite
    from harness.cli.output.console import out, print_json
    from harness.cli.results.showing import show_summary
    from harness.report import summarise
    from harness.results import read_baseline
    from harness.score import build_scorer, outdated

    declared = load_suite(project, suite)
    baseline = read_baseline(project, suite, declared.digest)
    summary = summarise(baseline.manifest, baseline.scorecards)
    older = outdated(baseline.manifest.scorer_versions, build_scorer(declared).versions)
    if as_json:
        print_json({**summary.model_dump(mode="json"), "outdated": list(older)})
        return
    show_summary(out(), summary, None)
    if older:
        click.echo(f"evaluated by other versions, which a run is not compared by: {'; '.join(older)}")
        click.echo("  -> run the suite again, then: harness baseline set RUN")
