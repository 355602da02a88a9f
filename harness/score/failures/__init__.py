"""Failure modes: what went wrong in a trial, where it began and what followed, told by deterministic detectors."""

from harness.score.failures.detectors import DETECTORS, built_in_versions, find_detector
from harness.score.failures.diagnose import diagnose, findings
from harness.score.failures.diagnosis import Diagnosis, Failure, Kind
from harness.score.failures.loop_trap import loops
from harness.score.failures.measurable import not_measured
from harness.score.failures.ranking import Suspect, suspects
from harness.score.failures.recovery import ErrorRecovery, Response, recoveries

__all__ = [
    "DETECTORS",
    "Diagnosis",
    "ErrorRecovery",
    "Failure",
    "Kind",
    "Response",
    "Suspect",
    "built_in_versions",
    "diagnose",
    "find_detector",
    "findings",
    "loops",
    "not_measured",
    "recoveries",
    "suspects",
]
