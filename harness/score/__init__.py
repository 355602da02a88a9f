"""Scoring: verifiers decide whether the task was done, metrics measure how. Scoring is pure: any stored trial can be
scored again.
"""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.score.card_values import card_values as card_values
    from harness.score.comparison.alignment import Deviation as Deviation
    from harness.score.comparison.alignment import deviations_from_trial as deviations_from_trial
    from harness.score.comparison.alignment import invocations as invocations
    from harness.score.comparison.alternative_deviations import alternative_deviations as alternative_deviations
    from harness.score.comparison.comparing import differing_arguments as differing_arguments
    from harness.score.comparison.reference_match import deviations_from_reference as deviations_from_reference
    from harness.score.diagnosis import Diagnosis as Diagnosis
    from harness.score.diagnosis import Failure as Failure
    from harness.score.evaluators import Item as Item
    from harness.score.evaluators import ItemEvaluator as ItemEvaluator
    from harness.score.evaluators import RunEvaluator as RunEvaluator
    from harness.score.evaluators import TrialKey as TrialKey
    from harness.score.evaluators import item_of as item_of
    from harness.score.evidence import Evidence as Evidence
    from harness.score.evidence import JudgedCriterion as JudgedCriterion
    from harness.score.evidence import Verdict as Verdict
    from harness.score.failed_code import raised_by as raised_by
    from harness.score.failures.measurable import not_measured as not_measured
    from harness.score.failures.ranking.mode_ranking import RankedMode as RankedMode
    from harness.score.failures.ranking.mode_ranking import ranked_modes as ranked_modes
    from harness.score.failures.ranking.ranking import Suspect as Suspect
    from harness.score.failures.ranking.ranking import suspects as suspects
    from harness.score.made_calls import fed_calls as fed_calls
    from harness.score.made_calls import step_of_call as step_of_call
    from harness.score.metrics import METRICS as METRICS
    from harness.score.protocols import Detector as Detector
    from harness.score.protocols import Metric as Metric
    from harness.score.protocols import RunMetric as RunMetric
    from harness.score.protocols import Verifier as Verifier
    from harness.score.reference_state import ReferenceState as ReferenceState
    from harness.score.reference_state import asked_digest as asked_digest
    from harness.score.reference_state import is_state_of as is_state_of
    from harness.score.scorecard import EncodingFault as EncodingFault
    from harness.score.scorecard import ParameterFault as ParameterFault
    from harness.score.scorecard import Score as Score
    from harness.score.scorecard import Scorecard as Scorecard
    from harness.score.scorecard import ToolUse as ToolUse
    from harness.score.scored_versions import outdated as outdated
    from harness.score.scorer import Scorer as Scorer
    from harness.score.scorer import build_scorer as build_scorer
    from harness.score.scorer import score_trial as score_trial
    from harness.score.selection import decisions as decisions
    from harness.score.verifiers.reference_state import EqualsReferenceState as EqualsReferenceState
    from harness.score.words_of_content import content_words as content_words
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "words_of_content": ("content_words",),
            "card_values": ("card_values",),
            "comparison.alignment": ("Deviation", "deviations_from_trial", "invocations"),
            "made_calls": ("fed_calls", "step_of_call"),
            "comparison.alternative_deviations": ("alternative_deviations",),
            "comparison.reference_match": ("deviations_from_reference",),
            "diagnosis": ("Diagnosis", "Failure"),
            "comparison.comparing": ("differing_arguments",),
            "evaluators": ("Item", "ItemEvaluator", "RunEvaluator", "TrialKey", "item_of"),
            "failed_code": ("raised_by",),
            "failures.measurable": ("not_measured",),
            "failures.ranking.mode_ranking": ("RankedMode", "ranked_modes"),
            "failures.ranking.ranking": ("Suspect", "suspects"),
            "metrics": ("METRICS",),
            "scored_versions": ("outdated",),
            "scorer": ("Scorer", "build_scorer", "score_trial"),
            "selection": ("decisions",),
            "evidence": ("Evidence", "Verdict", "JudgedCriterion"),
            "protocols": ("Detector", "Metric", "RunMetric", "Verifier"),
            "reference_state": ("ReferenceState", "asked_digest", "is_state_of"),
            "verifiers.reference_state": ("EqualsReferenceState",),
            "scorecard": ("EncodingFault", "ParameterFault", "Score", "Scorecard", "ToolUse"),
        },
    )
