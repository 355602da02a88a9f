"""Prints results: summaries, comparisons, trends and gates."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from harness.reports.gates import GateResult
from harness.reports.render.terminal import SummaryView
from harness.reports.summary import Summary

if TYPE_CHECKING:
    from harness.reports.compare import BaselineGate, Comparison
    from harness.reports.trend import Trend


def show_summary(console: Console, summary: Summary, report: Path | None) -> None:
    """Prints scores by category and difficulty, and the path of the report."""
    console.print(SummaryView(summary, where=None if report is None else str(report)))


def show_comparison(console: Console, comparison: "Comparison") -> None:
    """Prints the differences between two runs."""
    from harness.reports.render.terminal import ComparisonView  # a run without an earlier one shows none

    console.print()
    console.print(ComparisonView(comparison))


def show_trend(console: Console, trend: "Trend") -> None:
    """Prints figures by release."""
    from harness.reports.render.terminal import TrendView

    console.print(TrendView(trend))


def show_gate(console: Console, result: GateResult) -> None:
    """Prints one line for each gate of `--fail-under`."""
    for check in result.checks:
        console.print(f"gate {check.metric} >= {check.floor:g}: {check.holding.replace('_', ' ')} ({check.reason})")


def show_baseline_gate(console: Console, gate: "BaselineGate") -> None:
    """Prints whether the run is as good as its baseline, and the lost cases."""
    console.print(f"gate baseline: {gate.holding.replace('_', ' ')} ({gate.reason})")
    for one in gate.lost:
        console.print(f"  lost {one.case_id}/{one.attempt}: {'; '.join(one.reasons)}", markup=False, soft_wrap=True)
    if gate.left_out:
        console.print(
            f"  not compared, because the versions of the baseline differ: {', '.join(gate.left_out)}", markup=False
        )
