"""`harness explain`: what went wrong in a trial, and where."""

from pathlib import Path

import click

from harness.cli.options import run_path


@click.command("explain")
@click.argument("run")
@click.argument("case")
@click.option("--attempt", type=click.IntRange(1), default=1, show_default=True)
@click.option("--width", type=click.IntRange(40), default=400, show_default=True, help="Characters of a text shown.")
@click.option("--json", "as_json", is_flag=True, help="Print the trial and its scorecard as JSON.")
@click.pass_obj
def command(project: Path, run: str, case: str, attempt: int, width: int, as_json: bool) -> None:
    """Print the trajectory of CASE in the stored RUN, with the diagnosis at its steps.

    \b
    harness explain tour-v1 order-correctness-003
    """
    from harness.cli.console import print_json
    from harness.errors import UsageError
    from harness.report.render.trajectory import explained
    from harness.results import RunFolder

    folder = RunFolder.open(run_path(project, run))
    found = next((one for one in folder.scorecards() if (one.case_id, one.attempt) == (case, attempt)), None)
    trial = folder.trial(case, attempt) if found is not None else None
    if found is None or trial is None:
        known = sorted({one.case_id for one in folder.scorecards()})
        raise UsageError(
            f"run {folder.manifest.run!r} has no trial {case!r} attempt {attempt}",
            remedy=f"its cases: {', '.join(known[:20])}{' ...' if len(known) > 20 else ''}",
        )
    if as_json:
        print_json({"trial": trial.model_dump(mode="json"), "scorecard": found.model_dump(mode="json")})
        return
    for line in explained(trial, found, width):
        click.echo(line)
    if not any(name.startswith("detector:") for name in folder.manifest.scorer_versions):
        click.echo(f"scored before findings were kept; look for them now: harness score {run}", err=True)
