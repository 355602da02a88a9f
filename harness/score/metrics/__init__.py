"""The built-in metrics, by name. Each docstring gives formula, unit and exclusions before anything is counted."""

from harness.score.metrics.call_match import CallMatch, CallPrecision, CallRecall
from harness.score.metrics.completion import Completion
from harness.score.metrics.consumption import CostUsd, Tokens
from harness.score.metrics.effect_match import EffectMatch
from harness.score.metrics.length import Steps, Turns
from harness.score.metrics.parameter_validity import ParameterValidity
from harness.score.metrics.partial_credit import PartialCredit
from harness.score.metrics.plan_quality import PlanAdherence, PlanCoverage, PlanOrder, PlanQuality
from harness.score.metrics.recovery import Recovery
from harness.score.metrics.redundancy import Redundancy
from harness.score.metrics.routing import Routing
from harness.score.metrics.step_efficiency import StepEfficiency, StepRatio
from harness.score.metrics.task_success import TaskSuccess
from harness.score.metrics.termination import Termination
from harness.score.metrics.tool_selection import ToolAllowed, ToolSelection

METRICS: dict[str, type] = {
    metric.name: metric
    for metric in (
        TaskSuccess,
        Completion,
        ToolSelection,
        ToolAllowed,
        CallMatch,
        CallPrecision,
        CallRecall,
        EffectMatch,
        PartialCredit,
        ParameterValidity,
        PlanQuality,
        PlanCoverage,
        PlanOrder,
        PlanAdherence,
        StepEfficiency,
        StepRatio,
        Redundancy,
        Recovery,
        Termination,
        Routing,
        Steps,
        Turns,
        Tokens,
        CostUsd,
    )
}

__all__ = ["METRICS"]
