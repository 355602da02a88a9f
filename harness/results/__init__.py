"""Run folders on disk: append-only, resumable, read back as values."""

from harness.results.comparable import latest_comparable, runs_in
from harness.results.drift import ChangeClass, DriftFinding, DriftReport, IssueDraft, Severity
from harness.results.folder import RunFolder
from harness.results.manifest import (
    ManifestDifference,
    PlannedTrial,
    RunManifest,
    Scoring,
    differences,
)
from harness.results.naming import RunNameTaken, begin_run, check_run_name, default_run_name
from harness.results.stop import stop_reason, write_stop
from harness.results.stored import StoredTrial, TrialKey

__all__ = [
    "ChangeClass",
    "DriftFinding",
    "DriftReport",
    "IssueDraft",
    "ManifestDifference",
    "PlannedTrial",
    "RunFolder",
    "RunManifest",
    "RunNameTaken",
    "Scoring",
    "Severity",
    "StoredTrial",
    "TrialKey",
    "begin_run",
    "check_run_name",
    "default_run_name",
    "differences",
    "latest_comparable",
    "runs_in",
    "stop_reason",
    "write_stop",
]
