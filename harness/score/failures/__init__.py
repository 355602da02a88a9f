"""Failure modes: what went wrong in a trial, where it began and what followed, told by deterministic detectors."""

from harness.score.diagnosis import Diagnosis, Failure, Kind
from harness.score.failures.detectors import DETECTORS, built_in_versions, find_detector
from harness.score.failures.diagnose import diagnose, findings
from harness.score.failures.measurable import not_measured
from harness.score.failures.modes.loop_trap import loops
from harness.score.failures.modes.recovery import ErrorRecovery, Response, recoveries
from harness.score.failures.ranking.mode_ranking import RankedMode, ranked_modes
from harness.score.failures.ranking.ranking import Suspect, suspects

__all__ = [
    "DETECTORS",
    "Diagnosis",
    "ErrorRecovery",
    "Failure",
    "Kind",
    "RankedMode",
    "Response",
    "Suspect",
    "built_in_versions",
    "diagnose",
    "find_detector",
    "findings",
    "loops",
    "not_measured",
    "ranked_modes",
    "recoveries",
    "suspects",
]
