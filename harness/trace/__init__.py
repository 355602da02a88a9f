"""What happened: spans, the trajectory projected from them, and the trial around it."""

from harness.trace.trajectory import (
    EvidenceKind,
    Observation,
    ReplayTier,
    Step,
    ToolCall,
    ToolErrorType,
    ToolFailure,
    Trajectory,
    Usage,
    step_identity,
)
from harness.trace.trial import (
    MEASURED,
    CommandResult,
    EndState,
    FileChange,
    ModelUse,
    Outage,
    Outcome,
    ProgramExit,
    RecordingReport,
    Trial,
)

__all__ = [
    "MEASURED",
    "CommandResult",
    "EndState",
    "EvidenceKind",
    "FileChange",
    "ModelUse",
    "Observation",
    "Outage",
    "Outcome",
    "ProgramExit",
    "RecordingReport",
    "ReplayTier",
    "Step",
    "ToolCall",
    "ToolErrorType",
    "ToolFailure",
    "Trajectory",
    "Trial",
    "Usage",
    "step_identity",
]
