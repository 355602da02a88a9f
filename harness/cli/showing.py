"""Prints the first report of a run that a verb has made."""

from harness.cli.console import out, print_json
from harness.reports.render.markdown import write_report
from harness.reports.render.terminal import first_report
from harness.reports.summarising import summarise_run
from harness.reports.summary import Summary
from harness.runs.store.folder import RunFolder


def show_run(folder: RunFolder, *, as_json: bool) -> Summary:
    """The figures, after they are stored in the run's folder and printed."""
    summary = summarise_run(folder)
    report = write_report(folder, summary)
    if as_json:
        print_json(summary.model_dump(mode="json"))
    else:
        out().print(first_report(summary, str(report)))
    return summary
