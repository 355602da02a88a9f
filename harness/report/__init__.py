"""Reports: summaries, comparisons and their renderings."""

from harness.report.compare import Comparison, compare, compare_runs
from harness.report.gate import GateResult, gate
from harness.report.summary import Summary, summarise, summarise_run
from harness.report.writing import write_report

__all__ = [
    "Comparison",
    "GateResult",
    "Summary",
    "compare",
    "compare_runs",
    "gate",
    "summarise",
    "summarise_run",
    "write_report",
]
