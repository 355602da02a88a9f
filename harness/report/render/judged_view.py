"""Judgements for a terminal."""

from rich.console import Console, ConsoleOptions, RenderResult

from harness.report.figures.judged_figures import JudgedRubric
from harness.report.render.judged import judged_section
from harness.report.render.terminal_tables import section_table


class JudgedView:
    """Print it with a rich Console."""

    def __init__(self, judged: JudgedRubric) -> None:
        self._judged = judged

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One table and its notes."""
        del console, options
        yield from section_table(judged_section(self._judged))
