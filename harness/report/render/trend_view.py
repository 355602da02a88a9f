"""A trend for a terminal."""

from rich.console import Console, ConsoleOptions, RenderResult

from harness.report.comparison.trend import Trend
from harness.report.render.terminal_tables import heading, section_table
from harness.report.render.trend import trend_sections

_HEAD = 9
"""Characters of a release's name, so that a dozen fit side by side."""


class TrendView:
    """Print it with a rich Console."""

    def __init__(self, trend: Trend) -> None:
        self._trend = trend

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Metrics, then failure modes."""
        del console, options
        first, last = self._trend.releases[0], self._trend.releases[-1]
        yield heading(self._trend.suite, f"{first.name} → {last.name}")
        for section in trend_sections(self._trend, widest=_HEAD):
            if section.rows:
                yield from section_table(section)
