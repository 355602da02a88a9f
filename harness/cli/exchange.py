"""`harness import` and `harness export`: runs from and to the formats of other tools."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypedDict, Unpack

import click

from harness.cli.options import PluginType, importers, refuse_typed
from harness.cli.options import run_name as checked_run_name
from harness.runs.store.folder import run_path

# Runs of Langfuse as files for the time of an import.


@contextmanager
def fetched_run(dataset: str, run: str | None) -> Iterator[Path]:
    """The file of a run of the dataset; it is removed in the end. Raises UsageError that names the runs; an error about
    the file becomes one about the dataset.
    """
    from harness.errors import InvalidDocument
    from harness.gateway.upstream.langfuse import LangfuseClient
    from harness.production.langfuse_dataset import chosen_run, dataset_runs, fetch_run

    client = LangfuseClient.from_environment()
    chosen = chosen_run(dataset_runs(client, dataset), dataset, run)
    with TemporaryDirectory(prefix="harness-langfuse-") as folder:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{dataset}-{chosen.name}").strip(".-")[:100] or "run"
        file = Path(folder) / f"{stem}.jsonl"
        fetch_run(client, chosen, file)
        try:
            yield file
        except InvalidDocument as error:
            if error.path != file:
                raise
            remedy = "check LANGFUSE_HOST, and that its server is of version 4"
            source = Path(f"langfuse:{dataset}")
            raise InvalidDocument(source, error.problem, line=error.line, remedy=remedy) from None


# `harness import`: reads trajectories of other programs.


class ImportOptions(TypedDict):
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
def import_command(project: Path, /, format: str, path: Path | None, **options: Unpack[ImportOptions]) -> None:
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

    from harness.cli.console import say
    from harness.cli.showing import show_run
    from harness.runs.foreign_runs import import_file
    from harness.runs.importing import store_imported
    from harness.traces.formats.found import ImportOptions

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
    show_run(folder, as_json=options["as_json"])


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


# What `harness export` sends to Langfuse.


def send_dataset(project: Path, suite_name: str, dataset: str | None) -> None:
    """The cases of a suite as a dataset of Langfuse."""
    from harness.gateway.upstream.langfuse import LangfuseClient
    from harness.production.langfuse_dataset import export_dataset
    from harness.runs.plan.plan import secret_values
    from harness.suite.loading import load_suite

    suite = load_suite(project, suite_name)
    client = LangfuseClient.from_environment(secret_values(suite))
    changes = export_dataset(client, suite, suite.cases, dataset or suite.name)
    click.echo(
        f"dataset {changes.dataset.name}: {changes.added} added, {changes.changed} changed,"
        f" {changes.unchanged} unchanged" + (f", {changes.others} of others left as they are" if changes.others else "")
    )


def send_run(project: Path, run: str, dataset: str | None) -> None:
    """A run as an experiment of Langfuse."""
    from harness.cli.console import say
    from harness.gateway.upstream.langfuse import LangfuseClient
    from harness.production.langfuse_experiment import export_run
    from harness.runs.measured_trials import suite_of
    from harness.runs.plan.plan import secret_values
    from harness.runs.store.folder import RunFolder

    folder = RunFolder.open(run_path(project, run))
    suite = suite_of(project, folder)
    client = LangfuseClient.from_environment(secret_values(suite))
    done = export_run(client, folder, suite, dataset or suite.name)
    if done.unknown_cases:
        say(f"left out, since suite {suite.name} no longer has the case: {', '.join(done.unknown_cases)}")
    changes = done.changes
    click.echo(
        f"experiment {folder.manifest.run} on dataset {changes.dataset.name}: {done.trials} trials, {done.spans} spans,"
        f" {done.scores} scores sent; {changes.added} items added, {changes.changed} changed"
    )


# `harness export`: writes trials and cases in the formats of other tools.


class ExportOptions(TypedDict):
    """The options of `harness export`."""

    form: Literal["atif", "otlp"]
    output: Path | None
    dataset: str | None


@click.command("export")
@click.argument(
    "words",
    nargs=-1,
    required=True,
    metavar="RUN | langfuse RUN | langfuse-dataset SUITE",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["atif", "otlp"]),
    default="atif",
    show_default=True,
    help="Format of the files.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the files, one for each trial.",
)
@click.option("--dataset", metavar="NAME", help="The dataset of Langfuse; default: the suite's name.")
@click.pass_context
def export_command(ctx: click.Context, /, words: tuple[str, ...], **options: Unpack[ExportOptions]) -> None:
    """Write every trial of the stored RUN as ATIF or as OTLP JSON, or send it, or the cases of SUITE, to Langfuse.

    \b
    harness export tour-v2 --format atif -o exported
    harness export langfuse-dataset grocery
    harness export langfuse nightly

    `langfuse` sends a run as an experiment on the dataset of its suite: a trace for each trial, with its scores.
    `langfuse-dataset` sends the cases alone. LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY say where to.
    Sending again doubles nothing.
    """
    project: Path = ctx.obj
    match words:
        case ("langfuse" | "langfuse-dataset", _):
            refuse_typed(ctx, ("form", "output"), words[0])
        case _:
            refuse_typed(ctx, ("dataset",), "files")
    match words:
        case ("langfuse", run):
            send_run(project, run, options["dataset"])
        case ("langfuse-dataset", suite):
            send_dataset(project, suite, options["dataset"])
        case (run,):
            _write_files(project, run, options)
        case _:
            raise click.UsageError(f"expected RUN, or one word before RUN or SUITE, found {' '.join(words)!r}")


def _write_files(project: Path, run: str, options: ExportOptions) -> None:
    from harness.disk import write_atomically
    from harness.runs.store.folder import RunFolder
    from harness.traces.formats.atif import export_atif
    from harness.traces.otlp import export_otlp

    output, form = options["output"], options["form"]
    if output is None:
        raise click.UsageError("Missing option '--output' / '-o'.")
    folder = RunFolder.open(run_path(project, run))
    written = 0
    for stored in folder.trials():
        trial = stored.trial
        content = export_atif(trial, spans=stored.spans) if form == "atif" else export_otlp(stored.spans)
        path = output / f"{trial.case_id}.{trial.attempt}.json"
        write_atomically(path, (json.dumps(content, indent=1, ensure_ascii=True) + "\n").encode())
        written += 1
    click.echo(f"wrote {written} files to {output}")
