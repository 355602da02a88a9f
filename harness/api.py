"""The public names for imports by suites' own checks, plug-in packages and programs.

Everything else below `harness` is private and may change with any release. A test compares the names and their
signatures with `tests/structure/public_api.txt`. Modules are imported on first use.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic import JsonValue as JsonValue

    from harness.drift.issue import IssueTracker as IssueTracker
    from harness.drift.issue import Note as Note
    from harness.drift.issue import TrackedIssue as TrackedIssue
    from harness.drift.issue import TrackerOptions as TrackerOptions
    from harness.drift.trackers import FolderTracker as FolderTracker
    from harness.errors import CassetteError as CassetteError
    from harness.errors import ExitCode as ExitCode
    from harness.errors import GatewayError as GatewayError
    from harness.errors import HarnessError as HarnessError
    from harness.errors import InvalidDocument as InvalidDocument
    from harness.errors import NotMeasured as NotMeasured
    from harness.errors import OutOfTime as OutOfTime
    from harness.errors import ResultsError as ResultsError
    from harness.errors import SandboxError as SandboxError
    from harness.errors import ServiceError as ServiceError
    from harness.errors import SnapshotError as SnapshotError
    from harness.errors import TrackerError as TrackerError
    from harness.errors import TrackerUnavailable as TrackerUnavailable
    from harness.errors import UsageError as UsageError
    from harness.gateway.user import Heard as Heard
    from harness.gateway.user import User as User
    from harness.improve.candidates import Candidate as Candidate
    from harness.improve.rollouts import Rollout as Rollout
    from harness.improve.search import Optimiser as Optimiser
    from harness.improve.search import Search as Search
    from harness.judging.transcripts import Transcript as Transcript
    from harness.judging.views import CodeCriterion as CodeCriterion
    from harness.judging.views import Decision as Decision
    from harness.reports.compare import Comparison as Comparison
    from harness.reports.summary import Summary as Summary
    from harness.runs.execution.executor import Ended as Ended
    from harness.runs.execution.executor import Executor as Executor
    from harness.runs.execution.executor import Job as Job
    from harness.runs.execution.local import open_local as open_local
    from harness.runs.execution.run import Watch as Watch
    from harness.runs.plan.plan import RunOptions as RunOptions
    from harness.runs.plan.plan import RunPlan as RunPlan
    from harness.runs.store.drift_report import DriftFinding as DriftFinding
    from harness.runs.store.drift_report import DriftReport as DriftReport
    from harness.runs.store.drift_report import IssueDraft as IssueDraft
    from harness.runs.store.folder import RunFolder as RunFolder
    from harness.runs.store.folder import StoredTrial as StoredTrial
    from harness.runs.store.manifest import PlannedTrial as PlannedTrial
    from harness.runs.store.manifest import RunManifest as RunManifest
    from harness.sandbox.local import LocalSandboxProvider as LocalSandboxProvider
    from harness.sandbox.provider import Sandbox as Sandbox
    from harness.sandbox.provider import SandboxPaths as SandboxPaths
    from harness.sandbox.provider import SandboxProvider as SandboxProvider
    from harness.sandbox.provider import SandboxSpec as SandboxSpec
    from harness.sandbox.snapshot import Snapshot as Snapshot
    from harness.scoring.evidence import Evidence as Evidence
    from harness.scoring.evidence import Verdict as Verdict
    from harness.scoring.scorecard import Detector as Detector
    from harness.scoring.scorecard import Diagnosis as Diagnosis
    from harness.scoring.scorecard import Failure as Failure
    from harness.scoring.scorecard import Metric as Metric
    from harness.scoring.scorecard import Score as Score
    from harness.scoring.scorecard import Scorecard as Scorecard
    from harness.scoring.scorecard import ToolUse as ToolUse
    from harness.scoring.scorecard import Verifier as Verifier
    from harness.suite.cases import Case as Case
    from harness.suite.cases import CheckSpec as CheckSpec
    from harness.suite.cases import Limits as Limits
    from harness.suite.cases import ReferenceCall as ReferenceCall
    from harness.suite.loading import load_suite as load_suite
    from harness.suite.suites import Suite as Suite
    from harness.suite.tools import ToolSpec as ToolSpec
    from harness.traces.foreign_json import Record as Record
    from harness.traces.formats.found import Found as Found
    from harness.traces.formats.found import FoundRun as FoundRun
    from harness.traces.formats.found import FoundTool as FoundTool
    from harness.traces.formats.found import Importer as Importer
    from harness.traces.formats.found import ImportOptions as ImportOptions
    from harness.traces.formats.found import Source as Source
    from harness.traces.formats.transcript import ForeignCall as ForeignCall
    from harness.traces.formats.transcript import ForeignResult as ForeignResult
    from harness.traces.formats.transcript import ForeignStep as ForeignStep
    from harness.traces.outcomes import MEASURED as MEASURED
    from harness.traces.outcomes import Outcome as Outcome
    from harness.traces.spans import Span as Span
    from harness.traces.trajectory import Observation as Observation
    from harness.traces.trajectory import Step as Step
    from harness.traces.trajectory import ToolCall as ToolCall
    from harness.traces.trajectory import ToolFailure as ToolFailure
    from harness.traces.trajectory import Trajectory as Trajectory
    from harness.traces.trajectory import Usage as Usage
    from harness.traces.trial import CommandResult as CommandResult
    from harness.traces.trial import EndState as EndState
    from harness.traces.trial import FileChange as FileChange
    from harness.traces.trial import Trial as Trial
    from harness.values import Frozen as Frozen
    from harness.values import JsonObject as JsonObject
    from harness.values import canonical_json as canonical_json
    from harness.values import digest_of as digest_of


_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "harness.drift.issue": (
        "IssueTracker",
        "Note",
        "TrackedIssue",
        "TrackerOptions",
    ),
    "harness.drift.trackers": ("FolderTracker",),
    "harness.errors": (
        "CassetteError",
        "ExitCode",
        "GatewayError",
        "HarnessError",
        "InvalidDocument",
        "NotMeasured",
        "OutOfTime",
        "ResultsError",
        "SandboxError",
        "ServiceError",
        "SnapshotError",
        "TrackerError",
        "TrackerUnavailable",
        "UsageError",
    ),
    "harness.gateway.user": (
        "Heard",
        "User",
    ),
    "harness.improve.candidates": ("Candidate",),
    "harness.improve.rollouts": ("Rollout",),
    "harness.improve.search": (
        "Optimiser",
        "Search",
    ),
    "harness.judging.transcripts": ("Transcript",),
    "harness.judging.views": (
        "CodeCriterion",
        "Decision",
    ),
    "harness.reports.compare": ("Comparison",),
    "harness.reports.summary": ("Summary",),
    "harness.runs.execution.executor": (
        "Ended",
        "Executor",
        "Job",
    ),
    "harness.runs.execution.local": ("open_local",),
    "harness.runs.execution.run": ("Watch",),
    "harness.runs.plan.plan": (
        "RunOptions",
        "RunPlan",
    ),
    "harness.runs.store.drift_report": (
        "DriftFinding",
        "DriftReport",
        "IssueDraft",
    ),
    "harness.runs.store.folder": (
        "RunFolder",
        "StoredTrial",
    ),
    "harness.runs.store.manifest": (
        "PlannedTrial",
        "RunManifest",
    ),
    "harness.sandbox.local": ("LocalSandboxProvider",),
    "harness.sandbox.provider": (
        "Sandbox",
        "SandboxPaths",
        "SandboxProvider",
        "SandboxSpec",
    ),
    "harness.sandbox.snapshot": ("Snapshot",),
    "harness.scoring.evidence": (
        "Evidence",
        "Verdict",
    ),
    "harness.scoring.scorecard": (
        "Detector",
        "Diagnosis",
        "Failure",
        "Metric",
        "Score",
        "Scorecard",
        "ToolUse",
        "Verifier",
    ),
    "harness.suite.cases": (
        "Case",
        "CheckSpec",
        "Limits",
        "ReferenceCall",
    ),
    "harness.suite.loading": ("load_suite",),
    "harness.suite.suites": ("Suite",),
    "harness.suite.tools": ("ToolSpec",),
    "harness.traces.foreign_json": ("Record",),
    "harness.traces.formats.found": (
        "Found",
        "FoundRun",
        "FoundTool",
        "ImportOptions",
        "Importer",
        "Source",
    ),
    "harness.traces.formats.transcript": (
        "ForeignCall",
        "ForeignResult",
        "ForeignStep",
    ),
    "harness.traces.outcomes": ("MEASURED", "Outcome"),
    "harness.traces.spans": ("Span",),
    "harness.traces.trajectory": (
        "Observation",
        "Step",
        "ToolCall",
        "ToolFailure",
        "Trajectory",
        "Usage",
    ),
    "harness.traces.trial": (
        "CommandResult",
        "EndState",
        "FileChange",
        "Trial",
    ),
    "harness.values": (
        "Frozen",
        "JsonObject",
        "canonical_json",
        "digest_of",
    ),
    "pydantic": ("JsonValue",),
}
"""Module -> its public names."""


_HOMES: Final = {name: module for module, names in _MODULES.items() for name in names}

PUBLIC: Final = frozenset({*_HOMES, "compare", "run"})
"""Every public name of this module."""


def __getattr__(name: str) -> object:
    """Imports the module of a public name on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found  # from now on without this function
    return found


def run(options: "RunOptions", *, project: Path | str = ".", watch: "Watch | None" = None) -> "Summary":
    """Runs every planned trial and returns the run's summary, as `harness run --json` prints it.

    `project` is the folder that has `suites/`; the run folder is `runs/<summary.manifest.run>` in it. Gates are not
    evaluated: compare the summary's figures. Raises HarnessError (UsageError before anything is started) with a remedy.
    """
    from harness.reports.render.markdown import write_report
    from harness.reports.summarising import summarise_run
    from harness.runs.execution.run import Watch, run_plan
    from harness.runs.plan.planning import plan_of

    folder, watch = Path(project), watch or Watch()
    made = run_plan(plan_of(folder, options), watch)
    summary = summarise_run(made)
    write_report(made, summary)
    return summary


def compare(before: str, after: str, *, project: Path | str = ".") -> "Comparison":
    """Compares the run `before` (or `baseline:SUITE`) with the run `after`, paired by case and attempt.

    Runs are named by name or path. The result has the fields that `harness compare --json` prints. Raises
    UsageError for runs that cannot be compared.
    """
    from harness.reports.named import compare_named
    from harness.runs.store.folder import run_path

    folder = Path(project)
    return compare_named(folder, before, run_path(folder, after))
