"""Calls by which one agent of a program runs another, such as an agent that is offered to a model as a tool.

The program runs them by itself, so that the gateway observes no call: only the other agent's steps, while the call is
open.
"""

from collections.abc import Sequence

from harness.trace.trajectory import Step, ToolCall


def with_delegations(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, their calls marked with the sub-agent that they ran.

    A call delegates where only the agent reports it and a sub-agent's step has the call's step as its parent. Of
    several such calls in one step, those whose name contains the sub-agent's name delegate.
    """
    ran: dict[int, list[str]] = {}
    for step in steps:
        if step.parent is not None and step.agent is not None:
            ran.setdefault(step.parent, []).append(step.agent)
    return tuple(_marked(step, ran[step.index]) if step.index in ran else step for step in steps)


def _marked(step: Step, agents: Sequence[str]) -> Step:
    own = [call for call in step.calls if call.evidence == "self_reported"]
    named = {id(call): agent for call in own if (agent := _agent_of(call, agents, alone=len(own) == 1)) is not None}
    if not named:
        return step
    calls = tuple(call.model_copy(update={"delegated_to": named.get(id(call))}) for call in step.calls)
    return step.model_copy(update={"calls": calls})


def _agent_of(call: ToolCall, agents: Sequence[str], *, alone: bool) -> str | None:
    named = next((agent for agent in agents if agent.casefold() in call.name.casefold()), None)
    return agents[0] if named is None and alone else named
