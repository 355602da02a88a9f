"""Scoring: verifiers say whether the task was done, metrics how. Pure: any stored trial can be scored again."""

from harness.score.diagnosis import Diagnosis
from harness.score.scorer import Scorer, build_scorer, score_trial
from harness.score.selection import decisions
from harness.score.values import Evidence, Metric, RunMetric, Score, Scorecard, ToolUse, Verdict, Verifier

__all__ = [
    "Diagnosis",
    "Evidence",
    "Metric",
    "RunMetric",
    "Score",
    "Scorecard",
    "Scorer",
    "ToolUse",
    "Verdict",
    "Verifier",
    "build_scorer",
    "decisions",
    "score_trial",
]
