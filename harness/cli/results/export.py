"""`harness export`: writes trials and cases in the formats of other tools."""

import json
import re
from pathlib import Path
from typing import Literal, TypedDict, Unpack

import click

from harness.cli.results.tracking import send_dataset, send_run
from harness.results import run_path


class Options(TypedDict):
    """The options of `harness export`."""

    form: Literal["atif", "otlp"]
    output: Path | None
    dataset: str | None


@click.command("export")
@click.argument(
    "words",
    nargs=-1,
    required=True,
    metavar="RUN | adk SUITE | langfuse RUN | langfuse-dataset SUITE",
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
@click.pass_obj
def command(project: Path, /, words: tuple[str, ...], **options: Unpack[Options]) -> None:
    """Write every trial of the stored RUN as ATIF or as OTLP JSON, or the cases of SUITE as Google ADK's evaluation
    sets; or send them to Langfuse.

    \b
    harness export tour-v2 --format atif -o exported
    harness export adk grocery -o exported
    harness export langfuse-dataset grocery
    harness export langfuse nightly

    `langfuse` sends a run as an experiment on the dataset of its suite: a trace for each trial, with its scores.
    `langfuse-dataset` sends the cases alone. LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY say where to.
    Sending again doubles nothing.
    """
    match words:
        case ("langfuse", run):
            send_run(project, run, options["dataset"])
        case ("langfuse-dataset", suite):
            send_dataset(project, suite, options["dataset"])
        case ("adk", _) | (_,):
            _write_files(project, words, options)
        case _:
            raise click.UsageError(f"expected RUN, or one word before RUN or SUITE, found {' '.join(words)!r}")


def _write_files(project: Path, words: tuple[str, ...], options: Options) -> None:
    output = options["output"]
    if output is None:
        raise click.UsageError("Missing option '--output' / '-o'.")
    if len(words) > 1:
        written = _cases(project, words[1], output)
    else:
        written = _trials(project, words[0], options["form"], output)
    click.echo(f"wrote {written} files to {output}")


def _trials(project: Path, run: str, form: Literal["atif", "otlp"], output: Path) -> int:
    from harness.ingest import export_atif, export_otlp
    from harness.results import RunFolder

    folder = RunFolder.open(run_path(project, run))
    written = 0
    for stored in folder.trials():
        trial = stored.trial
        content = export_atif(trial, spans=stored.spans) if form == "atif" else export_otlp(stored.spans)
        _write(output / f"{trial.case_id}.{trial.attempt}.json", content)
        written += 1
    return written


def _cases(project: Path, suite: str, output: Path) -> int:
    from harness.case import load_suite
    from harness.ingest import export_adk

    written = 0
    for name, content in export_adk(load_suite(project, suite)):
        _write(output / f"{_file_name(name)}.evalset.json", content)
        written += 1
    return written


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:100] or "cases"


def _write(path: Path, content: object) -> None:
    from harness.documents import write_atomically

    write_atomically(path, (json.dumps(content, indent=1, ensure_ascii=True) + "\n").encode())
