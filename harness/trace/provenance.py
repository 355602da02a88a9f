"""Views of a trajectory by source of evidence: observed by the gateway, or reported by the agent itself."""

from collections.abc import Callable, Collection

from harness.trace.trajectory import Step, ToolCall, Trajectory


def reports_itself(trajectory: Trajectory) -> bool:
    """Whether the trajectory contains self-reported evidence."""
    return any(
        step.evidence == "self_reported" or any(call.evidence == "self_reported" for call in step.calls)
        for step in trajectory.steps
    )


def observed_only(trajectory: Trajectory) -> Trajectory:
    """The trajectory without self-reported calls, results and user messages. Steps keep their positions and indices.

    A step that loses all its calls loses its message too: next to the calls the message was narration, and by itself
    it would be read as a reply to the user.
    """
    return _filtered(trajectory, lambda call: call.evidence == "self_reported", keeps_message=False)


def without_claims_about(trajectory: Trajectory, tools: Collection[str]) -> Trajectory:
    """The trajectory without self-reported user messages, and without self-reported calls of `tools`.

    The gateway observes every real call of a declared tool. Other tools (the shell of a coding agent) are the agent's
    own, so that its report is the only evidence.
    """
    return _filtered(
        trajectory, lambda call: call.evidence == "self_reported" and call.name in tools, keeps_message=True
    )


def unattributed(trajectory: Trajectory) -> Trajectory:
    """The trajectory without provenance, as for imported ones: marks in a file prove nothing."""
    steps = tuple(
        step.model_copy(
            update={
                "evidence": None,
                "calls": tuple(call.model_copy(update={"evidence": None}) for call in step.calls),
                "observations": tuple(seen.model_copy(update={"evidence": None}) for seen in step.observations),
            }
        )
        for step in trajectory.steps
    )
    return trajectory.model_copy(update={"steps": steps})


def _filtered(trajectory: Trajectory, drops: Callable[[ToolCall], bool], *, keeps_message: bool) -> Trajectory:
    steps = tuple(_step(step, drops, keeps_message=keeps_message) for step in trajectory.steps)
    return trajectory.model_copy(update={"steps": steps})


def _step(step: Step, drops: Callable[[ToolCall], bool], *, keeps_message: bool) -> Step:
    if step.source == "user" and step.evidence == "self_reported":
        return step.model_copy(update={"message": None})
    dropped = {call.id for call in step.calls if drops(call)}
    if not dropped:
        return step
    calls = tuple(call for call in step.calls if call.id not in dropped)
    update = {
        "calls": calls,
        "observations": tuple(seen for seen in step.observations if seen.call_id not in dropped),
    }
    return step.model_copy(update=update if calls or keeps_message else update | {"message": None})
