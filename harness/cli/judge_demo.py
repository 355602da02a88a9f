"""`harness judge demo`: from a run to a calibrated judge, on this machine alone."""

from pathlib import Path

import click

from harness.cli.options import jobs_option


@click.command("demo")
@click.argument("suite")
@click.option("--rubric", required=True, metavar="NAME", help="A rubric of the suite that people have labelled.")
@jobs_option
@click.pass_obj
def command(project: Path, suite: str, rubric: str, jobs: int | None) -> None:
    """Run SUITE, judge it by the rule model, hold it against the labels, and calibrate it.

    \b
    harness judge demo drive_thru --rubric counter

    Works on a copy of the suite in .harness/judge-demo, so that nothing in the project changes; the agents run as plain
    processes. The rule model and the rules that its prompt is revised with are suites/<suite>/judge/: it asks no real
    model, and its figures show how judging goes, never how good a judge is.
    """
    from harness.cli.judge_demonstration import demonstrate

    demonstrate(project, suite, rubric, jobs)
