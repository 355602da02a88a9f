"""The calls of a trial that the gateway saw, with their answers, in their order."""

from collections.abc import Sequence

from harness.case import FedCall
from harness.trace import Trial


def fed_calls(trial: Trial) -> tuple[FedCall, ...]:
    """Every call of the trial that the gateway saw, in order, with its answer and the index of its step."""
    seen = trial.trajectory.observations
    fed: list[FedCall] = []
    for step in trial.trajectory.steps:
        for call in step.calls:
            got = seen.get(call.id)
            if call.evidence == "self_reported" or got is None:
                continue
            fed.append(
                FedCall(
                    tool=call.name,
                    arguments=call.arguments,
                    unparsed=call.unparsed,
                    content=got.content,
                    error=None if got.error is None else got.error.type,
                    message="" if got.error is None else got.error.message,
                    step=step.index,
                )
            )
    return tuple(fed)


def step_of_call(calls: Sequence[FedCall], trial: Trial, number: int) -> int:
    """The step of the call with this number; past the last call, the step of the agent's answer."""
    if number < len(calls):
        return calls[number].step
    steps = trial.trajectory.steps
    last = calls[-1].step if calls else -1
    said = [step.index for step in steps if step.source == "agent" and step.index > last]
    return said[-1] if said else max(last, 0)
