"""Scoring: verifiers decide whether the task was done, metrics measure how. Scoring is pure: any stored trial can be
scored again.
"""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.score.comparing import differing_arguments as differing_arguments
    from harness.score.diagnosis import Diagnosis as Diagnosis
    from harness.score.diagnosis import Failure as Failure
    from harness.score.evaluators import Item as Item
    from harness.score.evaluators import ItemEvaluator as ItemEvaluator
    from harness.score.evaluators import RunEvaluator as RunEvaluator
    from harness.score.evaluators import TrialKey as TrialKey
    from harness.score.evaluators import item_of as item_of
    from harness.score.evidence import Evidence as Evidence
    from harness.score.evidence import Verdict as Verdict
    from harness.score.failures.conformance import check_detector as check_detector
    from harness.score.failures.measurable import not_measured as not_measured
    from harness.score.failures.ranking import suspects as suspects
    from harness.score.metrics import METRICS as METRICS
    from harness.score.protocols import Detector as Detector
    from harness.score.protocols import Metric as Metric
    from harness.score.protocols import RunMetric as RunMetric
    from harness.score.protocols import Verifier as Verifier
    from harness.score.scorecard import EncodingFault as EncodingFault
    from harness.score.scorecard import ParameterFault as ParameterFault
    from harness.score.scorecard import Score as Score
    from harness.score.scorecard import Scorecard as Scorecard
    from harness.score.scorecard import ToolUse as ToolUse
    from harness.score.scorer import Scorer as Scorer
    from harness.score.scorer import build_scorer as build_scorer
    from harness.score.scorer import score_trial as score_trial
    from harness.score.selection import decisions as decisions
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "diagnosis": ("Diagnosis", "Failure"),
            "comparing": ("differing_arguments",),
            "evaluators": ("Item", "ItemEvaluator", "RunEvaluator", "TrialKey", "item_of"),
            "failures.conformance": ("check_detector",),
            "failures.measurable": ("not_measured",),
            "failures.ranking": ("suspects",),
            "metrics": ("METRICS",),
            "scorer": ("Scorer", "build_scorer", "score_trial"),
            "selection": ("decisions",),
            "evidence": ("Evidence", "Verdict"),
            "protocols": ("Detector", "Metric", "RunMetric", "Verifier"),
            "scorecard": ("EncodingFault", "ParameterFault", "Score", "Scorecard", "ToolUse"),
        },
    )
