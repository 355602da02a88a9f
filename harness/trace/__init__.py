"""Spans, the trajectory projected from them, and the trial that contains both."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.trace.collector import Collector as Collector
    from harness.trace.collector import otlp_endpoint as otlp_endpoint
    from harness.trace.collector import otlp_headers as otlp_headers
    from harness.trace.evaluation import Evaluation as Evaluation
    from harness.trace.evaluation import evaluation_event as evaluation_event
    from harness.trace.exporting import ExportReport as ExportReport
    from harness.trace.exporting import LiveExport as LiveExport
    from harness.trace.otlp import NotOtlp as NotOtlp
    from harness.trace.otlp import spans_of as spans_of
    from harness.trace.page import ElementSeen as ElementSeen
    from harness.trace.page import ElementsSeen as ElementsSeen
    from harness.trace.page import PageSeen as PageSeen
    from harness.trace.progress import TrialProgress as TrialProgress
    from harness.trace.projection import trajectory_from as trajectory_from
    from harness.trace.prompts import prompts_of as prompts_of
    from harness.trace.provenance import observed_only as observed_only
    from harness.trace.provenance import reports_itself as reports_itself
    from harness.trace.provenance import unattributed as unattributed
    from harness.trace.provenance import without_claims_about as without_claims_about
    from harness.trace.recorder import Attributes as Attributes
    from harness.trace.recorder import TraceRecorder as TraceRecorder
    from harness.trace.recorder import TraceSubject as TraceSubject
    from harness.trace.span import Span as Span
    from harness.trace.tracer import Tracing as Tracing
    from harness.trace.trajectory import Content as Content
    from harness.trace.trajectory import EvidenceKind as EvidenceKind
    from harness.trace.trajectory import Observation as Observation
    from harness.trace.trajectory import ReplayTier as ReplayTier
    from harness.trace.trajectory import Step as Step
    from harness.trace.trajectory import ToolCall as ToolCall
    from harness.trace.trajectory import ToolErrorType as ToolErrorType
    from harness.trace.trajectory import ToolFailure as ToolFailure
    from harness.trace.trajectory import Trajectory as Trajectory
    from harness.trace.trajectory import Usage as Usage
    from harness.trace.trajectory import step_identity as step_identity
    from harness.trace.trajectory import with_final_answer as with_final_answer
    from harness.trace.trial import MEASURED as MEASURED
    from harness.trace.trial import CommandResult as CommandResult
    from harness.trace.trial import EndState as EndState
    from harness.trace.trial import FileChange as FileChange
    from harness.trace.trial import FileKind as FileKind
    from harness.trace.trial import ModelUse as ModelUse
    from harness.trace.trial import Outage as Outage
    from harness.trace.trial import Outcome as Outcome
    from harness.trace.trial import ProgramExit as ProgramExit
    from harness.trace.trial import RecordingReport as RecordingReport
    from harness.trace.trial import Trial as Trial
    from harness.trace.user import Divergence as Divergence
    from harness.trace.user import FaultClass as FaultClass
    from harness.trace.user import UserEnding as UserEnding
    from harness.trace.user import UserFault as UserFault
    from harness.trace.user import UserReport as UserReport
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "collector": ("Collector", "otlp_endpoint", "otlp_headers"),
            "evaluation": ("Evaluation", "evaluation_event"),
            "exporting": ("ExportReport", "LiveExport"),
            "otlp": ("NotOtlp", "spans_of"),
            "page": ("ElementSeen", "ElementsSeen", "PageSeen"),
            "progress": ("TrialProgress",),
            "projection": ("trajectory_from",),
            "prompts": ("prompts_of",),
            "provenance": ("observed_only", "reports_itself", "unattributed", "without_claims_about"),
            "recorder": ("Attributes", "TraceRecorder", "TraceSubject"),
            "span": ("Span",),
            "tracer": ("Tracing",),
            "trajectory": (
                "Content",
                "EvidenceKind",
                "Observation",
                "ReplayTier",
                "Step",
                "ToolCall",
                "ToolErrorType",
                "ToolFailure",
                "Trajectory",
                "Usage",
                "step_identity",
                "with_final_answer",
            ),
            "trial": (
                "CommandResult",
                "EndState",
                "FileChange",
                "FileKind",
                "MEASURED",
                "ModelUse",
                "Outage",
                "Outcome",
                "ProgramExit",
                "RecordingReport",
                "Trial",
            ),
            "user": ("Divergence", "FaultClass", "UserEnding", "UserFault", "UserReport"),
        },
    )
