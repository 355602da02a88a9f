"""Prints the summary of a run."""

from pathlib import Path

from rich.console import Console

from harness.reports.render.terminal import SummaryView
from harness.reports.summary import Summary


def show_summary(console: Console, summary: Summary, report: Path | None) -> None:
    """Prints scores by category and difficulty, and the path of the report."""
    console.print(SummaryView(summary, where=None if report is None else str(report)))
