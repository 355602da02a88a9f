"""The public names for imports by suites' own checks, plug-in packages and programs.

Everything else below `harness` is private and may change with any release. A test compares the names and their
signatures with `tests/structure/public_api.txt`. Modules are imported on first use.
"""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.api.running import compare as compare
    from harness.api.running import run as run
    from harness.case import Case as Case
    from harness.case import CheckSpec as CheckSpec
    from harness.case import Limits as Limits
    from harness.case import OpenToolSource as OpenToolSource
    from harness.case import ReferenceCall as ReferenceCall
    from harness.case import SourceContext as SourceContext
    from harness.case import Suite as Suite
    from harness.case import ToolResult as ToolResult
    from harness.case import ToolSource as ToolSource
    from harness.case import ToolSpec as ToolSpec
    from harness.case import check_tool_source as check_tool_source
    from harness.case import load_suite as load_suite
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
    from harness.gateway import Heard as Heard
    from harness.gateway import User as User
    from harness.ingest import ForeignCall as ForeignCall
    from harness.ingest import ForeignResult as ForeignResult
    from harness.ingest import ForeignStep as ForeignStep
    from harness.ingest import Found as Found
    from harness.ingest import FoundRun as FoundRun
    from harness.ingest import FoundTool as FoundTool
    from harness.ingest import Importer as Importer
    from harness.ingest import ImportOptions as ImportOptions
    from harness.ingest import Record as Record
    from harness.ingest import Source as Source
    from harness.issues import FolderTracker as FolderTracker
    from harness.issues import IssueTracker as IssueTracker
    from harness.issues import Note as Note
    from harness.issues import TrackedIssue as TrackedIssue
    from harness.issues import TrackerOptions as TrackerOptions
    from harness.judge import CodeCriterion as CodeCriterion
    from harness.judge import Decision as Decision
    from harness.judge import Transcript as Transcript
    from harness.optimise import Candidate as Candidate
    from harness.optimise import Optimiser as Optimiser
    from harness.optimise import Rollout as Rollout
    from harness.optimise import Search as Search
    from harness.pipeline import Ended as Ended
    from harness.pipeline import Executor as Executor
    from harness.pipeline import Job as Job
    from harness.pipeline import RunOptions as RunOptions
    from harness.pipeline import RunPlan as RunPlan
    from harness.pipeline import Watch as Watch
    from harness.pipeline import open_local as open_local
    from harness.report import Comparison as Comparison
    from harness.report import Summary as Summary
    from harness.results import DriftFinding as DriftFinding
    from harness.results import DriftReport as DriftReport
    from harness.results import IssueDraft as IssueDraft
    from harness.results import PlannedTrial as PlannedTrial
    from harness.results import RunFolder as RunFolder
    from harness.results import RunManifest as RunManifest
    from harness.results import StoredTrial as StoredTrial
    from harness.sandbox import LocalSandboxProvider as LocalSandboxProvider
    from harness.sandbox import Sandbox as Sandbox
    from harness.sandbox import SandboxPaths as SandboxPaths
    from harness.sandbox import SandboxProvider as SandboxProvider
    from harness.sandbox import SandboxSpec as SandboxSpec
    from harness.sandbox import Snapshot as Snapshot
    from harness.score import Detector as Detector
    from harness.score import Diagnosis as Diagnosis
    from harness.score import Evidence as Evidence
    from harness.score import Failure as Failure
    from harness.score import Item as Item
    from harness.score import Metric as Metric
    from harness.score import RunMetric as RunMetric
    from harness.score import Score as Score
    from harness.score import Scorecard as Scorecard
    from harness.score import ToolUse as ToolUse
    from harness.score import Verdict as Verdict
    from harness.score import Verifier as Verifier
    from harness.trace import MEASURED as MEASURED
    from harness.trace import CommandResult as CommandResult
    from harness.trace import EndState as EndState
    from harness.trace import FileChange as FileChange
    from harness.trace import Observation as Observation
    from harness.trace import Outcome as Outcome
    from harness.trace import Span as Span
    from harness.trace import Step as Step
    from harness.trace import ToolCall as ToolCall
    from harness.trace import ToolFailure as ToolFailure
    from harness.trace import Trajectory as Trajectory
    from harness.trace import Trial as Trial
    from harness.trace import Usage as Usage
    from harness.values import Frozen as Frozen
    from harness.values import JsonObject as JsonObject
    from harness.values import JsonValue as JsonValue
    from harness.values import canonical_json as canonical_json
    from harness.values import digest_of as digest_of
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "api.running": (
                "compare",
                "run",
            ),
            "case": (
                "Case",
                "CheckSpec",
                "Limits",
                "OpenToolSource",
                "ReferenceCall",
                "SourceContext",
                "Suite",
                "ToolResult",
                "ToolSource",
                "ToolSpec",
                "check_tool_source",
                "load_suite",
            ),
            "errors": (
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
            "gateway": (
                "Heard",
                "User",
            ),
            "ingest": (
                "ForeignCall",
                "ForeignResult",
                "ForeignStep",
                "Found",
                "FoundRun",
                "FoundTool",
                "ImportOptions",
                "Importer",
                "Record",
                "Source",
            ),
            "issues": (
                "FolderTracker",
                "IssueTracker",
                "Note",
                "TrackedIssue",
                "TrackerOptions",
            ),
            "judge": ("CodeCriterion", "Decision", "Transcript"),
            "optimise": ("Candidate", "Optimiser", "Rollout", "Search"),
            "pipeline": (
                "Ended",
                "Executor",
                "Job",
                "RunOptions",
                "RunPlan",
                "Watch",
                "open_local",
            ),
            "report": (
                "Comparison",
                "Summary",
            ),
            "results": (
                "DriftFinding",
                "DriftReport",
                "IssueDraft",
                "PlannedTrial",
                "RunFolder",
                "RunManifest",
                "StoredTrial",
            ),
            "sandbox": (
                "LocalSandboxProvider",
                "Sandbox",
                "SandboxPaths",
                "SandboxProvider",
                "SandboxSpec",
                "Snapshot",
            ),
            "score": (
                "Detector",
                "Diagnosis",
                "Evidence",
                "Failure",
                "Item",
                "Metric",
                "RunMetric",
                "Score",
                "Scorecard",
                "ToolUse",
                "Verdict",
                "Verifier",
            ),
            "trace": (
                "CommandResult",
                "EndState",
                "FileChange",
                "MEASURED",
                "Observation",
                "Outcome",
                "Span",
                "Step",
                "ToolCall",
                "ToolFailure",
                "Trajectory",
                "Trial",
                "Usage",
            ),
            "values": (
                "Frozen",
                "JsonObject",
                "JsonValue",
                "canonical_json",
                "digest_of",
            ),
        },
        below="harness",
    )
