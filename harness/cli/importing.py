"""`harness import`: trajectories of other harnesses."""

from pathlib import Path
from typing import Any

import click

from harness.cli.options import PluginType, importers, run_name


@click.command("import")
@click.argument("format", type=PluginType("format", importers))
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--run-name", callback=run_name, metavar="NAME", help="Name of the run folder; a name that exists is refused."
)
@click.option("--suite", metavar="NAME", help="What to call the suite; default: the file or folder.")
@click.option(
    "--tools",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="JSON file with the tools' definitions, for formats that do not carry them.",
)
@click.option("--score", metavar="NAME", help="Which of several scores is the reward.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_obj
def command(project: Path, /, format: str, path: Path, as_json: bool, **options: Any) -> None:
    """Read the file or folder PATH, written in FORMAT, into a run folder.

    \b
    harness import tau2 results.json --run-name tau2-retail
    harness import inspect logs/ --run-name last-night
    harness import otel spans.json

    Besides the built-in formats, those of installed packages (entry points `harness.importer`) can be named, and
    `module:NAME`.

    The run is scored, compared and reported like one of ours. What could not be read as it stands is listed; what
    looks like a credential is taken out.
    """
    from harness.cli.console import out, print_json, say
    from harness.cli.showing import show_summary
    from harness.ingest import ImportOptions, import_file
    from harness.pipeline import store_imported
    from harness.report import summarise_run, write_report

    run_name = options.pop("run_name")
    imported = import_file(format, path, ImportOptions(**options))
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
