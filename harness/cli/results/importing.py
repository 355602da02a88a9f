"""`harness import`: reads trajectories of other programs."""

from pathlib import Path

import click

from harness.cli.options import PluginType, importers
from harness.cli.options import run_name as checked_run_name


@click.command("import")
@click.argument("format", type=PluginType("format", importers))
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--run-name",
    callback=checked_run_name,
    metavar="NAME",
    help="Name of the run folder; a name that exists is refused.",
)
@click.option("--suite", metavar="NAME", help="Name of the suite; default: the name of the file or folder.")
@click.option(
    "--tools",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="JSON file with the tools' definitions, for formats without them.",
)
@click.option("--score", metavar="NAME", help="Name of the score that is the reward, if there are several.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_obj
def command(project: Path, /, format: str, path: Path, run_name: str | None, as_json: bool, **typed: object) -> None:
    """Read the file or folder PATH, written in FORMAT, into a run folder.

    \b
    harness import tau2 results.json --run-name tau2-retail
    harness import inspect logs/ --run-name last-night
    harness import otel spans.json

    Besides the built-in formats, those of installed packages (entry points `harness.importer`) can be named, and
    `module:NAME`.

    An imported run is scored, compared and reported like any other. Records that could not be read completely are
    listed; texts that look like credentials are removed.
    """
    from harness.cli.output.console import out, print_json, say
    from harness.cli.results.showing import show_summary
    from harness.ingest import ImportOptions, import_file
    from harness.pipeline import store_imported
    from harness.report import summarise_run, write_report

    imported = import_file(format, path, ImportOptions.model_validate(typed))
    for note in imported.notes:
        place = ", ".join(part for part in (note.record, note.field) if part)
        say(f"{note.file}: {place}: {note.problem} ({note.count}x)" + (f" -> {note.remedy}" if note.remedy else ""))
    folder = store_imported(imported, project / "runs", name=run_name)
    summary = summarise_run(folder)
    report = write_report(folder, summary)
    if as_json:
        print_json(summary.model_dump(mode="json"))
    else:
        show_summary(out(), summary, report)
