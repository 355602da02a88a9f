"""The table of a matrix, for a terminal and as Markdown."""

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from harness.reports.change import MetricChange
from harness.reports.durations import Spread
from harness.reports.matrix import MatrixRow, MatrixTable
from harness.reports.render.markdown import plain, section_lines
from harness.reports.render.sections import Section
from harness.reports.render.terminal import heading, section_table
from harness.reports.render.wording import UNKNOWN, percent, percent_between, signed_points
from harness.reports.summary import Figure

_HEADS = ("success", "95 %", "difference", "cost, US$", "tokens", "latency, s", "steps")


class MatrixView:
    """Print it with a rich Console."""

    def __init__(self, table: MatrixTable) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, then the difference of each run."""
        del console, options
        matrix = self._table.matrix
        yield heading(f"{matrix.suite} · {matrix.agent}", matrix.name)
        yield from section_table(_section(self._table))
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
        _mean(row.cost_usd, ".4g"),
        _mean(row.tokens, ".0f"),
        _seconds(row.latency),
        _mean(row.steps, ".1f"),
    )


def _values(row: MatrixRow) -> str:
    return ", ".join(row.variables.values())


def _mean(figure: Figure | None, form: str) -> str:
    return UNKNOWN if figure is None or figure.mean is None else format(figure.mean, form)


def _seconds(spread: Spread | None) -> str:
    return UNKNOWN if spread is None else f"{spread.p50_ms / 1000:.3g} / {spread.p95_ms / 1000:.3g}"


def _note(row: MatrixRow) -> str:
    words = [f"{_values(row)}: run {row.run}, {row.measured} of {row.planned} trials measured"]
    if row.stopped is not None:
        words.append(f"stopped: {row.stopped}")
    if row.difference is not None:
        words.append(_verdict(row.difference))
    return "; ".join(words)


def _verdict(change: MetricChange) -> str:
    return change.verdict if change.pairs else "no trial is measured in both runs"
