"""Which modes a trial gives nothing to measure by, and why: silence about these is no finding of health."""

from harness.score.failures.diagnosis import Failure
from harness.score.values import Evidence

UNTOLD = "(the file does not tell the task)"


def not_measured(evidence: Evidence) -> dict[Failure, str]:
    """Mode -> reason. A mode that is not in it was looked for."""
    found: dict[Failure, str] = {}
    calls = evidence.trial.trajectory.calls
    if not calls and not evidence.tools:
        reason = "no calls are recorded"
        found["loop_trap"] = reason
        found["tool_hallucination"] = reason
    if evidence.case.task == UNTOLD:
        found["goal_drift"] = "no goal text is told"
    elif calls:
        # on traces with human labels, the rules for goal drift did no better than saying yes to every run
        found["goal_drift"] = "only work on foreign cases is looked for; drift within the same things is not seen"
    if evidence.case.reference is None:
        found["wrong_outcome"] = "the case has no reference"
    elif evidence.success is None:
        found["wrong_outcome"] = "whether the trial succeeded is not known"
    if not calls and evidence.success is None:
        found["cascading_error"] = "whether the trial succeeded is not known"
    return found
