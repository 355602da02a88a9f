"""Reports: summaries, comparisons and their renderings."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports
from harness.report.compare import compare as compare
from harness.report.gate import gate as gate

if TYPE_CHECKING:
    from harness.report.baseline import BaselineGate as BaselineGate
    from harness.report.baseline import compare_with_baseline as compare_with_baseline
    from harness.report.baseline import hold_against as hold_against
    from harness.report.compare import Comparison as Comparison
    from harness.report.compare import compare_runs as compare_runs
    from harness.report.gate import GateResult as GateResult
    from harness.report.gate import check_floors as check_floors
    from harness.report.gate import success_floor as success_floor
    from harness.report.html.page import write_html as write_html
    from harness.report.judged import judged_rubric as judged_rubric
    from harness.report.margin import no_worse_than as no_worse_than
    from harness.report.margin import refuse_unusable as refuse_unusable
    from harness.report.margin import repetitions_of as repetitions_of
    from harness.report.named import compare_named as compare_named
    from harness.report.render.agreement import AgreementView as AgreementView
    from harness.report.render.calibration import CalibrationView as CalibrationView
    from harness.report.render.calibration import StabilityView as StabilityView
    from harness.report.render.calibration import TriageView as TriageView
    from harness.report.render.differences import margin_lines as margin_lines
    from harness.report.render.json import comparison_json as comparison_json
    from harness.report.render.json import summary_json as summary_json
    from harness.report.render.judged_view import JudgedView as JudgedView
    from harness.report.render.junit import junit_xml as junit_xml
    from harness.report.render.markdown import comparison_markdown as comparison_markdown
    from harness.report.render.markdown import summary_markdown as summary_markdown
    from harness.report.render.markdown import trend_markdown as trend_markdown
    from harness.report.render.model_requests import model_lines as model_lines
    from harness.report.render.model_requests import model_requests as model_requests
    from harness.report.render.preference import PreferenceView as PreferenceView
    from harness.report.render.terminal import ComparisonView as ComparisonView
    from harness.report.render.terminal import SummaryView as SummaryView
    from harness.report.render.trajectory import explained as explained
    from harness.report.render.trend_view import TrendView as TrendView
    from harness.report.render.wording import crash_words as crash_words
    from harness.report.render.wording import model_words as model_words
    from harness.report.render.wording import percent as percent
    from harness.report.render.wording import percent_between as percent_between
    from harness.report.rewards import rewards_of as rewards_of
    from harness.report.simulated import UserSummary as UserSummary
    from harness.report.simulated import summarise_users as summarise_users
    from harness.report.summarising import summarise as summarise
    from harness.report.summarising import summarise_run as summarise_run
    from harness.report.summary import SUCCESS as SUCCESS
    from harness.report.summary import Summary as Summary
    from harness.report.trend import Trend as Trend
    from harness.report.trend import suite_of as suite_of
    from harness.report.writing import write_report as write_report
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "named": ("compare_named",),
            "baseline": ("BaselineGate", "compare_with_baseline", "hold_against"),
            "compare": ("Comparison", "compare_runs"),
            "gate": ("GateResult", "check_floors", "success_floor"),
            "html.page": ("write_html",),
            "judged": ("judged_rubric",),
            "simulated": ("UserSummary", "summarise_users"),
            "margin": ("no_worse_than", "refuse_unusable", "repetitions_of"),
            "render.agreement": ("AgreementView",),
            "render.calibration": ("CalibrationView", "StabilityView", "TriageView"),
            "render.differences": ("margin_lines",),
            "render.json": ("comparison_json", "summary_json"),
            "render.judged_view": ("JudgedView",),
            "render.junit": ("junit_xml",),
            "render.markdown": ("comparison_markdown", "summary_markdown", "trend_markdown"),
            "render.model_requests": ("model_lines", "model_requests"),
            "render.preference": ("PreferenceView",),
            "render.terminal": ("ComparisonView", "SummaryView"),
            "render.trajectory": ("explained",),
            "render.trend_view": ("TrendView",),
            "render.wording": ("crash_words", "model_words", "percent", "percent_between"),
            "rewards": ("rewards_of",),
            "summary": ("SUCCESS", "Summary"),
            "summarising": ("summarise", "summarise_run"),
            "trend": ("Trend", "suite_of"),
            "writing": ("write_report",),
        },
    )
