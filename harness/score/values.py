"""The earlier home of names that suites' checks and metrics import: `harness.api` has them now. It will be removed in
the next release.
"""

import warnings

from harness.score.diagnosis import Diagnosis, Failure
from harness.score.evidence import Evidence, Verdict
from harness.score.protocols import Detector, Metric, RunMetric, Verifier
from harness.score.scorecard import EncodingFault, ParameterFault, Score, Scorecard, ToolUse

__all__ = [
    "Detector",
    "Diagnosis",
    "EncodingFault",
    "Evidence",
    "Failure",
    "Metric",
    "ParameterFault",
    "RunMetric",
    "Score",
    "Scorecard",
    "ToolUse",
    "Verdict",
    "Verifier",
]

warnings.warn(
    "`harness.score.values` is private now: import from `harness.api`; the old name goes with the next release",
    DeprecationWarning,
    stacklevel=2,
)
