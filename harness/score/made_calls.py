"""The calls of a trial that the gateway saw, with their answers, in their order."""

import re
from collections.abc import Sequence

from harness.case import FedCall
from harness.trace import Trial

_GATEWAYS_NUMBER = re.compile(r"call_(\d{1,9})")


def fed_calls(trial: Trial) -> tuple[FedCall, ...]:
    """Every call of the trial that the gateway saw, in the order in which it saw them, with its answer and the index of
    its step. Of calls that a model asked for together, all belong to one step; a call of another step may lie between.
    """
    seen = trial.trajectory.observations
    fed: list[FedCall] = []
    numbers: list[int | None] = []
    for step in trial.trajectory.steps:
        for call in step.calls:
            got = seen.get(call.id)
            if call.evidence == "self_reported" or got is None:
                continue
            number = _GATEWAYS_NUMBER.fullmatch(call.id)
            numbers.append(None if number is None else int(number[1]))
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
    known = [number for number in numbers if number is not None]
    if len(known) < len(fed):  # of another program, which numbers its calls in its own way
        return tuple(fed)
    return tuple(call for _, call in sorted(zip(known, fed, strict=True), key=lambda pair: pair[0]))


def step_of_call(calls: Sequence[FedCall], trial: Trial, number: int) -> int:
    """The step of the call with this number; past the last call, the step of the agent's answer."""
    if number < len(calls):
        return calls[number].step
    steps = trial.trajectory.steps
    last = max((call.step for call in calls), default=-1)
    said = [step.index for step in steps if step.source == "agent" and step.index > last]
    return said[-1] if said else max(last, 0)
