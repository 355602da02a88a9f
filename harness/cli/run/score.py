"""`harness score`: scores a stored run again."""

from pathlib import Path

import click

from harness.results import run_path


@click.command("score")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_obj
def command(project: Path, run: str, as_json: bool) -> None:
    """Score the stored RUN again with the current suite and scorers, without running the agent.

    \b
    harness score 20260131-235959-drive_thru-v2

    Earlier scorecards are kept.
    """
    from harness.cli.output.console import out, print_json
    from harness.cli.results.showing import show_summary
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
