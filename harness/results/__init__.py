"""Run folders on disk: append-only, resumable, read back as values."""

from harness.results.comparable import latest_comparable, runs_in
from harness.results.drift import ChangeClass, DriftFinding, DriftReport, IssueDraft, Severity
from harness.results.folder import RunFolder
from harness.results.manifest import (
    Difference,
    PlannedTrial,
    RunManifest,
    Scoring,
    check_run_name,
    default_run_name,
    differences,
)
from harness.results.stop import stop_reason, write_stop
from harness.results.stored import StoredTrial, TrialKey

__all__ = [
    "ChangeClass",
    "Difference",
    "DriftFinding",
    "DriftReport",
    "IssueDraft",
    "PlannedTrial",
    "RunFolder",
    "RunManifest",
    "Scoring",
    "Severity",
    "StoredTrial",
    "TrialKey",
    "check_run_name",
    "default_run_name",
    "differences",
    "latest_comparable",
    "runs_in",
    "stop_reason",
    "write_stop",
]
