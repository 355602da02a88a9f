"""Reports: summaries, comparisons and their renderings."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports
from harness.report.gate import gate as gate

if TYPE_CHECKING:
    from harness.report.comparison.baseline import BaselineGate as BaselineGate
    from harness.report.comparison.baseline import compare_with_baseline as compare_with_baseline
    from harness.report.comparison.baseline import hold_against as hold_against
    from harness.report.comparison.compare import Comparison as Comparison
    from harness.report.comparison.compare import compare as compare
    from harness.report.comparison.compare import compare_runs as compare_runs
    from harness.report.comparison.margin import margins_of as margins_of
    from harness.report.comparison.margin import no_worse_than as no_worse_than
    from harness.report.comparison.margin import refuse_malformed as refuse_malformed
    from harness.report.comparison.margin import refuse_unusable as refuse_unusable
    from harness.report.comparison.margin import repetitions_of as repetitions_of
    from harness.report.comparison.matrix import MatrixTable as MatrixTable
    from harness.report.comparison.matrix import matrix_table as matrix_table
    from harness.report.comparison.migration import Migration as Migration
    from harness.report.comparison.migration import migration_of as migration_of
    from harness.report.comparison.named import compare_named as compare_named
    from harness.report.comparison.trend import Trend as Trend
    from harness.report.comparison.trend import suite_of as suite_of
    from harness.report.figures.judged import judged_rubric as judged_rubric
    from harness.report.figures.judged import judged_trials as judged_trials
    from harness.report.figures.rewards import rewards_of as rewards_of
    from harness.report.figures.simulated import UserSummary as UserSummary
    from harness.report.figures.simulated import summarise_users as summarise_users
    from harness.report.figures.summarising import summarise as summarise
    from harness.report.figures.summarising import summarise_run as summarise_run
    from harness.report.figures.summary import Summary as Summary
    from harness.report.gate import GateResult as GateResult
    from harness.report.gate import check_floors as check_floors
    from harness.report.html.page import write_html as write_html
    from harness.report.listing import RunRow as RunRow
    from harness.report.listing import TrialRow as TrialRow
    from harness.report.listing import run_rows as run_rows
    from harness.report.listing import trial_rows as trial_rows
    from harness.report.render.agreement import AgreementView as AgreementView
    from harness.report.render.calibration import CalibrationView as CalibrationView
    from harness.report.render.comment import comment_markdown as comment_markdown
    from harness.report.render.differences import margin_lines as margin_lines
    from harness.report.render.json import comparison_json as comparison_json
    from harness.report.render.json import summary_json as summary_json
    from harness.report.render.judged_view import JudgedView as JudgedView
    from harness.report.render.junit import junit_xml as junit_xml
    from harness.report.render.markdown import summary_markdown as summary_markdown
    from harness.report.render.markdown_comparison import comparison_markdown as comparison_markdown
    from harness.report.render.markdown_comparison import trend_markdown as trend_markdown
    from harness.report.render.matrix import MatrixView as MatrixView
    from harness.report.render.matrix import matrix_markdown as matrix_markdown
    from harness.report.render.migration import MigrationView as MigrationView
    from harness.report.render.migration import migration_markdown as migration_markdown
    from harness.report.render.model_requests import model_lines as model_lines
    from harness.report.render.model_requests import model_requests as model_requests
    from harness.report.render.preference import PreferenceView as PreferenceView
    from harness.report.render.terminal import SummaryView as SummaryView
    from harness.report.render.terminal_comparison import ComparisonView as ComparisonView
    from harness.report.render.trajectory import explained as explained
    from harness.report.render.trend_view import TrendView as TrendView
    from harness.report.render.wording import crash_words as crash_words
    from harness.report.render.wording import model_words as model_words
    from harness.report.render.wording import percent as percent
    from harness.report.render.wording import percent_between as percent_between
    from harness.report.render.wording import printable as printable
    from harness.report.render.wording import remedy_words as remedy_words
    from harness.report.render.wording import success_words as success_words
    from harness.report.render.wording import variable_words as variable_words
    from harness.report.writing import write_report as write_report
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "comparison.migration": ("Migration", "migration_of"),
            "comparison.named": ("compare_named",),
            "comparison.matrix": ("MatrixTable", "matrix_table"),
            "comparison.baseline": ("BaselineGate", "compare_with_baseline", "hold_against"),
            "comparison.compare": ("Comparison", "compare", "compare_runs"),
            "gate": ("GateResult", "check_floors"),
            "html.page": ("write_html",),
            "figures.judged": ("judged_rubric", "judged_trials"),
            "listing": ("RunRow", "TrialRow", "run_rows", "trial_rows"),
            "figures.simulated": ("UserSummary", "summarise_users"),
            "comparison.margin": (
                "margins_of",
                "no_worse_than",
                "refuse_malformed",
                "refuse_unusable",
                "repetitions_of",
            ),
            "render.agreement": ("AgreementView",),
            "render.calibration": ("CalibrationView",),
            "render.differences": ("margin_lines",),
            "render.json": ("comparison_json", "summary_json"),
            "render.judged_view": ("JudgedView",),
            "render.junit": ("junit_xml",),
            "render.comment": ("comment_markdown",),
            "render.markdown": ("summary_markdown",),
            "render.markdown_comparison": ("comparison_markdown", "trend_markdown"),
            "render.matrix": ("MatrixView", "matrix_markdown"),
            "render.migration": ("MigrationView", "migration_markdown"),
            "render.model_requests": ("model_lines", "model_requests"),
            "render.preference": ("PreferenceView",),
            "render.terminal": ("SummaryView",),
            "render.terminal_comparison": ("ComparisonView",),
            "render.trajectory": ("explained",),
            "render.trend_view": ("TrendView",),
            "render.wording": (
                "crash_words",
                "model_words",
                "percent",
                "percent_between",
                "printable",
                "remedy_words",
                "success_words",
                "variable_words",
            ),
            "figures.rewards": ("rewards_of",),
            "figures.summary": ("Summary",),
            "figures.summarising": ("summarise", "summarise_run"),
            "comparison.trend": ("Trend", "suite_of"),
            "writing": ("write_report",),
        },
    )
