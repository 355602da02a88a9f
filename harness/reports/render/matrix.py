"""The table of a matrix, for a terminal and as Markdown."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from harness.reports.change import MetricChange
from harness.reports.durations import Spread
from harness.reports.matrix import MatrixRow, MatrixTable
from harness.reports.render.markdown import plain, section_lines
from harness.reports.render.sections import Section
from harness.reports.render.terminal import heading, section_table, view
from harness.reports.summary import Figure
from harness.reports.units import UNKNOWN, figure, percent, percent_between, seconds, signed_points

_HEADS = ("passed", "95 %", "difference", "cost", "tokens", "latency", "steps")


@view
def matrix_view(table: MatrixTable) -> Iterator[RenderableType]:
    """The table, then the difference of each run."""
    matrix = table.matrix
    yield heading(f"{matrix.suite} · {matrix.agent}", matrix.name)
    yield from section_table(_section(table))
    yield Text("  p50 and p95 of latency; cost, tokens and steps are means of a trial", style="dim")


def matrix_markdown(table: MatrixTable) -> str:
    """The table and its notes."""
    matrix = table.matrix
    title = f"# {plain(matrix.suite)}: {plain(matrix.agent)} by {plain(', '.join(matrix.variables))}"
    return "\n".join([title, *section_lines(_section(table))]) + "\n"


def _section(table: MatrixTable) -> Section:
    matrix = table.matrix
    return Section(
        title=f"by {', '.join(matrix.variables)}; the difference is from {_values(table.rows[0])}",
        heads=(", ".join(matrix.variables), *_HEADS),
        rows=tuple(_cells(row) for row in table.rows),
        notes=tuple(_note(row) for row in table.rows),
    )


def _cells(row: MatrixRow) -> tuple[str, ...]:
    return (
        _values(row),
        percent(row.success.rate),
        percent_between(row.success.interval) or UNKNOWN,
        UNKNOWN if row.difference is None else signed_points(row.difference.difference),
        _mean(row.cost_usd),
        _mean(row.tokens),
        _seconds(row.latency),
        _mean(row.steps),
    )


def _values(row: MatrixRow) -> str:
    return ", ".join(row.variables.values())


def _mean(found: Figure | None) -> str:
    return UNKNOWN if found is None else figure(found.metric, found.mean)


def _seconds(spread: Spread | None) -> str:
    return UNKNOWN if spread is None else f"{seconds(spread.p50_ms / 1000)} / {seconds(spread.p95_ms / 1000)}"


def _note(row: MatrixRow) -> str:
    words = [f"{_values(row)}: run {row.run}, {row.measured} of {row.planned} trials measured"]
    if row.stopped is not None:
        words.append(f"stopped: {row.stopped}")
    if row.difference is not None:
        words.append(_verdict(row.difference))
    return "; ".join(words)


def _verdict(change: MetricChange) -> str:
    return change.verdict if change.pairs else "no trial is measured in both runs"
