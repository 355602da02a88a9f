"""`harness report`: shows a stored run as text, Markdown, JUnit XML, JSON or pages."""

from pathlib import Path
from typing import Literal, TypedDict, Unpack

import click

from harness.cli.console import out
from harness.cli.options import all_option, form_of, json_option, refuse_all, refuse_typed
from harness.errors import os_error_in_words
from harness.reports.summarising import summarise_run
from harness.reports.summary import Summary
from harness.runs.store.folder import RunFolder, run_path

Format = Literal["terminal", "markdown", "junit"]


class PageOptions(TypedDict):
    """The options that `--html` or `--site` needs."""

    against: str | None
    output: Path | None


@click.command("report")
@click.argument("run")
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "junit"]),
    default="terminal",
    show_default=True,
    help="Format of the report.",
)
@json_option
@all_option
@click.option("--html", is_flag=True, help="Write a self-contained HTML file and print its path.")
@click.option(
    "--site",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a folder of linked pages, and print the path of the first one.",
)
@click.option(
    "--against", metavar="RUN", help="With --html or --site: another run to compare with; default: the baseline."
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --html: path of the file; default: in the folder of RUN.",
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    run: str,
    form: Format,
    as_json: bool,
    everything: bool,
    html: bool,
    site: Path | None,
    **of_page: Unpack[PageOptions],
) -> None:
    """Show the stored RUN.

    \b
    harness report tour-v2
    harness report tour-v2 --all
    harness report tour-v2 --format junit > junit.xml
    harness report tour-v2 --html --against tour-v1 -o tour.html
    harness report tour-v2 --site pages

    The output is deterministic. The pages are those of `harness view`; they run no program and need no server.
    """
    project: Path = ctx.obj
    if html or site is not None:
        refuse_typed(ctx, ("form", "as_json", "everything"), "--html" if html else "--site")
    else:
        refuse_typed(ctx, of_page, "no --html or --site")
    refuse_all(ctx, shown := form_of(ctx, form, as_json))
    if site is not None:
        refuse_typed(ctx, ("html", "output"), "--site")
    if html or site is not None:
        _write_pages(project, run, site, **of_page)
        return
    from harness.reports.render.markdown import junit_xml, summary_json, summary_markdown
    from harness.reports.render.terminal import SummaryView, first_report

    folder = RunFolder.open(run_path(project, run))
    summary = summarise_run(folder)
    match shown:
        case "terminal":
            where = _kept(folder, summary)
            out().print(SummaryView(summary, where) if everything else first_report(summary, where))
        case "markdown":
            click.echo(summary_markdown(summary), nl=False)
        case "junit":
            click.echo(junit_xml(summary, folder.cards()), nl=False)
        case "json":
            click.echo(summary_json(summary), nl=False)


def _kept(folder: "RunFolder", summary: "Summary") -> str | None:
    """Stores the report next to the trials; a read-only run folder is not an error."""
    from harness.cli.console import say
    from harness.reports.render.markdown import write_report

    try:
        return str(write_report(folder, summary))
    except OSError as error:
        say(f"the report is shown but could not be stored: {os_error_in_words(error)}")
        return None


def _write_pages(project: Path, run: str, site: Path | None, against: str | None, output: Path | None) -> None:
    from harness.reports.pages.files import write_html, write_site

    folder = RunFolder.open(run_path(project, run))
    other = None if against is None else RunFolder.open(run_path(project, against))
    if site is not None:
        click.echo(write_site(project, folder, site, other))
        return
    name = "report.html" if other is None else f"report-against-{other.manifest.run}.html"
    click.echo(write_html(project, folder, output or folder.path / "report" / name, other))
