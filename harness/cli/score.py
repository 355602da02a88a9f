"""`harness score`: later scorers, the same evidence."""

from pathlib import Path

import click

from harness.results import run_path


@click.command("score")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_obj
def command(project: Path, run: str, as_json: bool) -> None:
    """Score the stored RUN again with the suite and the scorers as they are now, without running anything.

    \b
    harness score 20260131-235959-drive_thru-v2

    The earlier scorecards stay beside the new ones.
    """
    from harness.cli.console import out, print_json
    from harness.cli.showing import show_summary
    from harness.pipeline import suite_of
    from harness.pipeline.rescore import rescore
    from harness.report import summarise_run, write_report
    from harness.results import RunFolder

    with RunFolder.resume(run_path(project, run)) as folder:
        rescore(folder, suite_of(project, folder))
        summary = summarise_run(folder)
        report = write_report(folder, summary)
    if as_json:
        print_json(summary.model_dump(mode="json"))
    else:
        show_summary(out(), summary, report)
