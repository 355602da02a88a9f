"""Which modes a trial gives nothing to measure by, and why: silence about these is no finding of health."""

from harness.score.evidence import Evidence
from harness.score.failures.diagnosis import Failure
from harness.score.failures.lookups import is_answer

UNTOLD = "(the file does not tell the task)"


def not_measured(evidence: Evidence) -> dict[Failure, str]:
    """Mode -> reason. A mode that is not in it was looked for."""
    found: dict[Failure, str] = {}
    calls = evidence.trial.trajectory.calls
    if not calls and not evidence.tools:
        found["loop_trap"] = "no calls are recorded"
        found["tool_hallucination"] = "no calls are recorded: only data that the agent says it made up are looked for"
    if evidence.case.task == UNTOLD:
        found["goal_drift"] = "no goal text is told"
    elif calls and not any(map(is_answer, calls)):
        found["goal_drift"] = "no answer is handed in by a call: only work on foreign cases is looked for"
    if not calls:
        found["premature_commitment"] = (
            "no calls are recorded: only assumptions that the agent states itself are looked for"
        )
        found["cascading_error"] = "no calls are recorded: what words alone say of it is a hint"
    if evidence.case.reference is None:
        found["wrong_outcome"] = "the case has no reference"
    elif evidence.success is None:
        found["wrong_outcome"] = "whether the trial succeeded is not known"
    return found
