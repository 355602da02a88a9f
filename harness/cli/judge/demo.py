"""`harness judge demo`: runs, judges and calibrates locally, without a real model."""

from pathlib import Path

import click

from harness.cli.options import jobs_option


@click.command("demo")
@click.argument("suite")
@click.option("--rubric", required=True, metavar="NAME", help="A rubric of the suite that people have labelled.")
@jobs_option
@click.pass_obj
def command(project: Path, suite: str, rubric: str, jobs: int | None) -> None:
    """Run SUITE, judge it with the rule model, compare the verdicts with labels, and calibrate the judge.

    \b
    harness judge demo drive_thru --rubric counter

    The verb works on a copy of the suite in .harness/judge-demo and does not change the project; the agents run as
    plain processes. The rule model and the rules that revise its prompt are in suites/<suite>/judge/. No real model is
    used: the figures demonstrate the procedure and say nothing about the quality of a judge.
    """
    from harness.cli.judge.demonstration import demonstrate

    demonstrate(project, suite, rubric, jobs)
