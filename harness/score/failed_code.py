"""A metric, check or detector whose own code raised: its value is not known, and the reason says so."""

from harness.score.diagnosis import Diagnosis
from harness.score.evidence import Verdict
from harness.score.scorecard import Score

METRIC_FAILED = "the metric itself failed: "
CHECK_FAILED = "the check itself failed: "
DETECTOR_FAILED = "the detector itself failed: "
"""With these the reason begins; what was raised follows. They stand in stored scorecards."""


def raised_by(one: Score | Verdict | Diagnosis) -> str | None:
    """What the code raised, and where; None: it did not raise."""
    if isinstance(one, Score):
        return _after(METRIC_FAILED, one.explanation if one.value is None else "")
    if isinstance(one, Verdict):
        return _after(CHECK_FAILED, one.reason if one.passed is None else "")
    return _after(DETECTOR_FAILED, one.evidence)


def _after(beginning: str, reason: str) -> str | None:
    return reason.removeprefix(beginning) if reason.startswith(beginning) else None
