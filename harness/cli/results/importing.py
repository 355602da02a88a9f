"""`harness import`: reads trajectories of other programs."""

from pathlib import Path
from typing import TypedDict, Unpack

import click

from harness.cli.options import PluginType, importers
from harness.cli.options import run_name as checked_run_name
from harness.cli.results.fetching import fetched_run


class Options(TypedDict):
    """The options of `harness import`."""

    dataset: str | None
    run: str | None
    run_name: str | None
    suite: str | None
    tools: Path | None
    score: str | None
    as_json: bool


@click.command("import")
@click.argument("format", type=PluginType("format", importers))
@click.argument("path", required=False, type=click.Path(path_type=Path, exists=True))
@click.option("--dataset", metavar="NAME", help="With `langfuse`, and without PATH: the dataset of Langfuse.")
@click.option("--run", metavar="NAME", help="The run of the dataset, by name or id; left out: the error lists them.")
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
def command(project: Path, /, format: str, path: Path | None, **options: Unpack[Options]) -> None:
    """Read the file or folder PATH, written in FORMAT, or a run of a Langfuse dataset, into a run folder.

    \b
    harness import tau2 results.json --run-name tau2-retail
    harness import inspect logs/ --run-name last-night
    harness import otel spans.json
    harness import langfuse --dataset grocery --run nightly

    Besides the built-in formats, those of installed packages (entry points `harness.importer`) can be named, and
    `module:NAME`.

    An imported run is scored, compared and reported like any other. Records that could not be read completely are
    listed; texts that look like credentials are removed. LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY
    say which Langfuse.
    """
    from contextlib import ExitStack

    from harness.cli.output.console import out, print_json, say
    from harness.cli.results.showing import show_summary
    from harness.ingest import ImportOptions, import_file
    from harness.pipeline import store_imported
    from harness.report import summarise_run, write_report

    dataset = options["dataset"]
    _check_source(format, path, dataset, options["run"])
    typed = {"suite": options["suite"] or dataset, "tools": options["tools"], "score": options["score"]}
    with ExitStack() as stack:
        if dataset is not None:
            path = stack.enter_context(fetched_run(dataset, options["run"]))
        assert path is not None
        imported = import_file(format, path, ImportOptions.model_validate(typed))
        for note in imported.notes:
            place = ", ".join(part for part in (note.record, note.field) if part)
            file = note.file if dataset is None else f"langfuse:{dataset}"
            say(f"{file}: {place}: {note.problem} ({note.count}x)" + (f" -> {note.remedy}" if note.remedy else ""))
        folder = store_imported(imported, project / "runs", name=options["run_name"])
    summary = summarise_run(folder)
    report = write_report(folder, summary)
    if options["as_json"]:
        print_json(summary.model_dump(mode="json"))
    else:
        show_summary(out(), summary, report)


def _check_source(format: str, path: Path | None, dataset: str | None, run: str | None) -> None:
    """Raises click.UsageError unless there is either a file or a dataset of Langfuse."""
    if dataset is not None and format != "langfuse":
        raise click.UsageError(f"--dataset is for the format `langfuse`, found {format!r}")
    if run is not None and dataset is None:
        raise click.UsageError("--run needs --dataset NAME")
    if path is None and dataset is None:
        hint = ", or --dataset NAME" if format == "langfuse" else ""
        raise click.UsageError(f"Missing argument 'PATH'{hint}.")
    if path is not None and dataset is not None:
        raise click.UsageError("expected PATH or --dataset, found both")
