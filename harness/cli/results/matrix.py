"""Prints a stored matrix."""

from pathlib import Path

import click

from harness.cli.output.console import out, print_json
from harness.errors import UsageError
from harness.report import MatrixTable, MatrixView, Summary, matrix_markdown, matrix_table, summarise_run
from harness.results import Matrix, RunFolder


def matrix_and_runs(path: Path, matrix: Matrix) -> list[tuple[RunFolder, Summary]]:
    """The runs of the matrix with their summaries, in order. Raises UsageError if one is missing."""
    folders = [RunFolder.open(path.parent / name) for name in matrix.runs]
    return [(folder, summarise_run(folder)) for folder in folders]


def show_matrix(table: MatrixTable) -> None:
    """Prints the table on standard output."""
    out().print(MatrixView(table))


def report_matrix(path: Path, matrix: Matrix, form: str) -> None:
    """Prints the matrix in a format of `harness report`. Raises UsageError for formats of single runs."""
    if form in ("junit", "html"):
        raise UsageError(
            f"{matrix.name!r} is a matrix, but the format {form} shows a single run",
            remedy=f"name one of: {', '.join(matrix.runs)}",
        )
    table = matrix_table(matrix, matrix_and_runs(path, matrix))
    match form:
        case "markdown":
            click.echo(matrix_markdown(table), nl=False)
        case "json":
            print_json(table.model_dump(mode="json"))
        case _:
            show_matrix(table)
