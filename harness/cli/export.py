"""`harness export`: trials for other people's tools."""

import json
import re
from pathlib import Path
from typing import Literal

import click

from harness.results import run_path


@click.command("export")
@click.argument("words", nargs=-1, required=True, metavar="RUN | adk SUITE")
@click.option(
    "--format",
    "form",
    type=click.Choice(["atif", "otlp"]),
    default="atif",
    show_default=True,
    help="Format of the files.",
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder; one file a trial."
)
@click.pass_obj
def command(project: Path, words: tuple[str, ...], form: Literal["atif", "otlp"], output: Path) -> None:
    """Write every trial of the stored RUN as ATIF or as OTLP JSON, or the cases of SUITE as Google ADK's evaluation
    sets.

    \b
    harness export tour-v2 --format atif -o exported
    harness export adk grocery -o exported
    """
    match words:
        case ("adk", suite):
            written = _cases(project, suite, output)
        case (run,):
            written = _trials(project, run, form, output)
        case _:
            raise click.UsageError(f"expected RUN, or adk SUITE, found {' '.join(words)!r}")
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
