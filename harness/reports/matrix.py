"""The table of a matrix: success, cost and latency of each run."""

from collections.abc import Sequence

from harness.errors import UsageError
from harness.reports.change import MetricChange
from harness.reports.durations import Spread
from harness.reports.summary import Figure, Rate, Summary
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import Matrix
from harness.values import Frozen


class MatrixRow(Frozen):
    """One combination of values."""

    run: str
    variables: dict[str, str]
    """The values of the variables that vary in the matrix."""
    planned: int
    measured: int
    success: Rate
    difference: MetricChange | None = None
    """Of the success rate from the first run, paired by case and attempt; None: of the first run itself, or where
    nothing can be compared.
    """
    cost_usd: Figure | None = None
    """The mean of a trial, as in the next two; None: not measured."""
    tokens: Figure | None = None
    steps: Figure | None = None
    latency: Spread | None = None
    """Of a trial; None: the answers were replayed, or nothing was measured."""
    stopped: str | None = None
    """Why the run stopped before all planned trials were made."""


class MatrixTable(Frozen):
    """The table that `harness run --with` and `harness report MATRIX` print."""

    matrix: Matrix
    rows: tuple[MatrixRow, ...]
    """In the order of the matrix."""


def matrix_table(matrix: Matrix, runs: Sequence[tuple[RunFolder, Summary]]) -> MatrixTable:
    """The table of the runs, which are in the order of the matrix."""
    first = runs[0][0]
    rows = (_row(matrix, summary, None if folder is first else _difference(first, folder)) for folder, summary in runs)
    return MatrixTable(matrix=matrix, rows=tuple(rows))


def _row(matrix: Matrix, summary: Summary, difference: MetricChange | None) -> MatrixRow:
    manifest = summary.manifest
    return MatrixRow(
        run=manifest.run,
        variables={name: manifest.variables.get(name, "") for name in matrix.variables},
        planned=summary.counts.planned,
        measured=summary.counts.measured,
        success=summary.success,
        difference=difference,
        cost_usd=_known(summary, "cost_usd"),
        tokens=_known(summary, "tokens"),
        steps=_known(summary, "steps"),
        latency=None if summary.latency is None else summary.latency.trial,
        stopped=summary.stopped,
    )


def _known(summary: Summary, metric: str) -> Figure | None:
    found = summary.figure(metric)
    return None if found is None or found.mean is None else found


def _difference(first: RunFolder, other: RunFolder) -> MetricChange | None:
    from harness.reports.compare import compare

    try:
        found = compare(first.manifest, first.cards(), other.manifest, other.cards())
    except UsageError:  # the runs have no trial in common, or one of them was scored again
        return None
    return found.held or found.success
