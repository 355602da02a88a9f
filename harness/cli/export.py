"""`harness export`: trials for other people's tools."""

from pathlib import Path
from typing import Literal

import click

from harness.results import run_path


@click.command("export")
@click.argument("run")
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
def command(project: Path, run: str, form: Literal["atif", "otlp"], output: Path) -> None:
    """Write every trial of the stored RUN as ATIF or as OTLP JSON.

    \b
    harness export tour-v2 --format atif -o exported
    """
    import json

    from harness.documents import write_atomically
    from harness.ingest import export_atif, export_otlp
    from harness.results import RunFolder

    folder = RunFolder.open(run_path(project, run))
    written = 0
    for stored in folder.trials():
        trial = stored.trial
        content = export_atif(trial, spans=stored.spans) if form == "atif" else export_otlp(stored.spans)
        target = output / f"{trial.case_id}.{trial.attempt}.json"
        write_atomically(target, (json.dumps(content, indent=1, ensure_ascii=True) + "\n").encode())
        written += 1
    click.echo(f"wrote {written} files to {output}")
