"""Prints results: what a run gave, how it differs from another, and whether its gates hold."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from harness.pipeline import StepDivergence
from harness.report import BaselineGate, Comparison, ComparisonView, GateResult, Summary, SummaryView, Trend, TrendView


def show_summary(console: Console, summary: Summary, report: Path | None) -> None:
    """Scores by category and difficulty, and where the report is."""
    console.print(SummaryView(summary, where=None if report is None else str(report)))


def show_comparison(console: Console, comparison: Comparison) -> None:
    """What changed from one run to the other."""
    console.print()
    console.print(ComparisonView(comparison))


def show_trend(console: Console, trend: Trend) -> None:
    """Figures release by release."""
    console.print(TrendView(trend))


def show_gate(console: Console, result: GateResult) -> None:
    """One line a floor."""
    for check in result.checks:
        console.print(f"gate {check.metric} >= {check.floor:g}: {check.holding.replace('_', ' ')} ({check.reason})")


def show_baseline_gate(console: Console, gate: BaselineGate) -> None:
    """Whether the run is as good as its baseline, and what it lost."""
    console.print(f"gate baseline: {gate.holding.replace('_', ' ')} ({gate.reason})")
    for one in gate.lost:
        console.print(f"  lost {one.case_id}/{one.attempt}: {'; '.join(one.reasons)}", markup=False, soft_wrap=True)
    if gate.left_out:
        console.print(f"  not compared, the baseline has other versions: {', '.join(gate.left_out)}", markup=False)


def show_divergences(console: Console, found: Sequence[StepDivergence], summary: Summary) -> None:
    """The first step that differs, case by case."""
    measured = summary.counts.measured
    if not found:
        console.print(f"deterministic: {measured} trials, one digest for each case")
        return
    console.print(f"NOT deterministic: {len(found)} case(s) did different things")
    for one in found:
        place = "the final output" if one.step is None else f"step {one.step}"
        console.print(
            f"  {one.case_id}: attempts {one.attempts[0]} and {one.attempts[1]} differ at {place}", markup=False
        )
        console.print(f"    - {one.before}", markup=False)
        console.print(f"    + {one.after}", markup=False)
