"""`harness report`: a stored run for people, for reviews and for CI."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from harness.errors import UsageError
from harness.os_errors import os_error_in_words
from harness.results import run_path

if TYPE_CHECKING:
    from harness.report import Summary
    from harness.results import RunFolder

Format = Literal["terminal", "markdown", "junit", "json"]


@click.command("report")
@click.argument("run")
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "junit", "json"]),
    default="terminal",
    show_default=True,
    help="Form of the report.",
)
@click.option(
    "--max-inconclusive",
    type=click.IntRange(0),
    help="For JUnit: so many trials with a replay miss are `skipped`; any more make all of them errors. Default: as "
    "many as the run itself was allowed.",
)
@click.option("--html", is_flag=True, help="Write one self-contained HTML file to look at, and print its path.")
@click.option("--against", metavar="RUN", help="With --html: another run, case by case beside this one.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="With --html: the file; default: in RUN."
)
@click.pass_obj
def command(
    project: Path,
    /,
    run: str,
    form: Format,
    max_inconclusive: int | None,
    html: bool,
    **of_page: Any,
) -> None:
    """Show the stored RUN.

    \b
    harness report tour-v2
    harness report tour-v2 --format junit > junit.xml
    harness report tour-v2 --html --against tour-v1 -o tour.html

    The same run gives the same bytes; the HTML file also counts the failures of the runs beside it.
    """
    if html:
        _write_html(project, run, **of_page)
        return
    if any(value is not None for value in of_page.values()):
        raise UsageError("--against and --output are for --html", remedy="add --html; two runs in figures: compare")
    from harness.cli.console import out
    from harness.cli.showing import show_summary
    from harness.report import junit_xml, summarise_run, summary_json, summary_markdown
    from harness.results import RunFolder, allowed_inconclusive

    folder = RunFolder.open(run_path(project, run))
    summary = summarise_run(folder)
    match form:
        case "terminal":
            show_summary(out(), summary, _kept(folder, summary, max_inconclusive))
        case "markdown":
            click.echo(summary_markdown(summary), nl=False)
        case "junit":
            allowed = allowed_inconclusive(folder) if max_inconclusive is None else max_inconclusive
            click.echo(junit_xml(summary, folder.scorecards(), allowed), nl=False)
        case "json":
            click.echo(summary_json(summary), nl=False)


def _kept(folder: "RunFolder", summary: "Summary", max_inconclusive: int | None) -> Path | None:
    """Beside the trials; runs that were put away for good, where nothing can be written, are shown all the same."""
    from harness.cli.console import say
    from harness.report import write_report

    try:
        return write_report(folder, summary, max_inconclusive)
    except OSError as error:
        say(f"the report is shown, and not kept: {os_error_in_words(error)}")
        return None


def _write_html(project: Path, run: str, against: str | None, output: Path | None) -> None:
    from harness.report import write_html
    from harness.results import RunFolder

    folder = RunFolder.open(run_path(project, run))
    other = None if against is None else RunFolder.open(run_path(project, against))
    name = "report.html" if other is None else f"report-against-{other.manifest.run}.html"
    click.echo(write_html(folder, output or folder.path / "report" / name, other))
