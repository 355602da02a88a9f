"""`harness trials`: lists the trials of a run with their failures."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.results import run_path

if TYPE_CHECKING:
    from harness.report import TrialRow


@click.command("trials")
@click.argument("run")
@click.option("--failed", is_flag=True, help="Only trials that failed or whose success is unknown.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.pass_obj
def command(project: Path, /, run: str, failed: bool, as_json: bool) -> None:
    """List the trials of the stored RUN with their failed checks and failure modes.

    \b
    harness trials tour-v1 --failed
    harness trials tour-v1 --failed --json

    `harness explain RUN CASE` shows one of them step by step.
    """
    from harness.cli.output.console import print_json
    from harness.report import trial_rows
    from harness.results import RunFolder

    rows = trial_rows(RunFolder.open(run_path(project, run)).scorecards(), failed=failed)
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows])
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


_WORDS = {True: "succeeded", False: "failed", None: "success unknown"}
