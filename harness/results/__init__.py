"""Run folders on disk: append-only, resumable, read back as values."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.results.allowance import allowed_inconclusive as allowed_inconclusive
    from harness.results.allowance import write_allowance as write_allowance
    from harness.results.baseline import Baseline as Baseline
    from harness.results.baseline import baseline_of as baseline_of
    from harness.results.baseline import keep_mutation_score as keep_mutation_score
    from harness.results.baseline import mutation_floor as mutation_floor
    from harness.results.baseline import read_baseline as read_baseline
    from harness.results.baseline import write_baseline as write_baseline
    from harness.results.causes import KeptCause as KeptCause
    from harness.results.causes import cause_of as cause_of
    from harness.results.causes import fork_of as fork_of
    from harness.results.causes import keep_cause as keep_cause
    from harness.results.comparable import damaged_in as damaged_in
    from harness.results.comparable import latest_comparable as latest_comparable
    from harness.results.comparable import runs_in as runs_in
    from harness.results.comparisons import add_comparison as add_comparison
    from harness.results.comparisons import latest_comparisons as latest_comparisons
    from harness.results.comparisons import read_comparisons as read_comparisons
    from harness.results.drift import DRIFT as DRIFT
    from harness.results.drift import ChangeClass as ChangeClass
    from harness.results.drift import DriftFinding as DriftFinding
    from harness.results.drift import DriftReport as DriftReport
    from harness.results.drift import IssueDraft as IssueDraft
    from harness.results.drift import Severity as Severity
    from harness.results.drift import drift_reports as drift_reports
    from harness.results.drift import holder_of as holder_of
    from harness.results.drift import read_drift as read_drift
    from harness.results.drift import write_drift as write_drift
    from harness.results.durations import real_durations as real_durations
    from harness.results.finding import run_path as run_path
    from harness.results.folder import RunFolder as RunFolder
    from harness.results.gc_pause import gc_paused as gc_paused
    from harness.results.judgements import JudgementWriter as JudgementWriter
    from harness.results.judgements import judged_rubrics as judged_rubrics
    from harness.results.judgements import keep_rubric as keep_rubric
    from harness.results.judgements import kept_rubric as kept_rubric
    from harness.results.judgements import latest as latest
    from harness.results.judgements import read_judgements as read_judgements
    from harness.results.lock import is_being_written as is_being_written
    from harness.results.manifest import RUN_NAME as RUN_NAME
    from harness.results.manifest import SUITE_NAME as SUITE_NAME
    from harness.results.manifest import ManifestDifference as ManifestDifference
    from harness.results.manifest import PlannedTrial as PlannedTrial
    from harness.results.manifest import RunManifest as RunManifest
    from harness.results.manifest import RunUsers as RunUsers
    from harness.results.manifest import Scoring as Scoring
    from harness.results.manifest import VariedTrial as VariedTrial
    from harness.results.manifest import differences as differences
    from harness.results.matrix import Matrix as Matrix
    from harness.results.matrix import matrix_at as matrix_at
    from harness.results.matrix import matrix_run_names as matrix_run_names
    from harness.results.matrix import write_matrix as write_matrix
    from harness.results.merging import MergeLimits as MergeLimits
    from harness.results.merging import merge_runs as merge_runs
    from harness.results.merging import shard_of as shard_of
    from harness.results.naming import RunNameTaken as RunNameTaken
    from harness.results.naming import begin_run as begin_run
    from harness.results.naming import check_run_name as check_run_name
    from harness.results.naming import default_run_name as default_run_name
    from harness.results.reference_states import keep_reference_states as keep_reference_states
    from harness.results.reference_states import read_reference_state as read_reference_state
    from harness.results.reference_states import reference_state_bytes as reference_state_bytes
    from harness.results.reference_states import stored_reference_states as stored_reference_states
    from harness.results.stop import Stop as Stop
    from harness.results.stop import request_stop as request_stop
    from harness.results.stop import stop_of as stop_of
    from harness.results.stop import stop_reason as stop_reason
    from harness.results.stop import stop_requested as stop_requested
    from harness.results.stop import withdraw_stop as withdraw_stop
    from harness.results.stop import write_stop as write_stop
    from harness.results.storage import read_checked as read_checked
    from harness.results.stored import StoredTrial as StoredTrial
    from harness.results.stored import TrialKey as TrialKey
    from harness.results.tags import set_tags as set_tags
    from harness.results.tags import tags_of as tags_of
    from harness.results.trials_in_flight import in_flight as in_flight
    from harness.results.trials_in_flight import shown_in_flight as shown_in_flight
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "allowance": ("allowed_inconclusive", "write_allowance"),
            "durations": ("real_durations",),
            "finding": ("run_path",),
            "baseline": (
                "Baseline",
                "baseline_of",
                "keep_mutation_score",
                "mutation_floor",
                "read_baseline",
                "write_baseline",
            ),
            "causes": ("KeptCause", "cause_of", "fork_of", "keep_cause"),
            "comparable": ("damaged_in", "latest_comparable", "runs_in"),
            "comparisons": ("add_comparison", "latest_comparisons", "read_comparisons"),
            "drift": (
                "DRIFT",
                "ChangeClass",
                "DriftFinding",
                "DriftReport",
                "IssueDraft",
                "Severity",
                "holder_of",
                "drift_reports",
                "read_drift",
                "write_drift",
            ),
            "folder": ("RunFolder",),
            "gc_pause": ("gc_paused",),
            "trials_in_flight": ("in_flight", "shown_in_flight"),
            "judgements": (
                "JudgementWriter",
                "judged_rubrics",
                "keep_rubric",
                "kept_rubric",
                "latest",
                "read_judgements",
            ),
            "lock": ("is_being_written",),
            "manifest": (
                "RUN_NAME",
                "SUITE_NAME",
                "ManifestDifference",
                "PlannedTrial",
                "RunManifest",
                "RunUsers",
                "Scoring",
                "VariedTrial",
                "differences",
            ),
            "matrix": ("Matrix", "matrix_at", "matrix_run_names", "write_matrix"),
            "merging": ("MergeLimits", "merge_runs", "shard_of"),
            "naming": ("RunNameTaken", "begin_run", "check_run_name", "default_run_name"),
            "reference_states": (
                "keep_reference_states",
                "read_reference_state",
                "reference_state_bytes",
                "stored_reference_states",
            ),
            "tags": ("set_tags", "tags_of"),
            "stop": (
                "Stop",
                "request_stop",
                "stop_of",
                "stop_reason",
                "stop_requested",
                "withdraw_stop",
                "write_stop",
            ),
            "storage": ("read_checked",),
            "stored": ("StoredTrial", "TrialKey"),
        },
    )
