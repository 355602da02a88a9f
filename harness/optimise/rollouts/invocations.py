"""Invocations: what one agent of a program was given, which calls it made, and what it returned, extracted from traces.

An invocation is identified by the spans of the agents (`gen_ai.agent.name`): the call by which another agent ran it,
with the steps that the agent made meanwhile. Where one step runs several, each ends with the agent's first message
that makes no call. The writes that succeeded before it are kept with it: they are the state that it began in.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.case import Invocation as ToolInvocation
from harness.case import ToolSpec
from harness.trace import Step, ToolCall, Trajectory, Trial
from harness.values import Frozen, JsonObject, JsonValue, canonical_json


class AgentInvocation(Frozen):
    """One agent, run once by another one."""

    case_id: str
    agent: str
    number: int
    """Counted from 1 within the trial, over all invocations of the agent."""
    step: int
    """Index of the step whose call ran the agent."""
    given: str
    """The request as text: the call's only text argument, else its arguments as JSON."""
    before: tuple[ToolInvocation, ...]
    """Writes of the trial that succeeded before the agent's first step."""
    calls: tuple[ToolInvocation, ...]
    returned: JsonValue

    @property
    def words(self) -> str:
        """For a reflector."""
        made = ", ".join(f"{call.tool}({canonical_json(call.arguments)})" for call in self.calls) or "none"
        return f"request: {self.given}\ncalls: {made}\nanswer: {self.returned}"


def invocations_of(trial: Trial, agent: str, tools: Sequence[ToolSpec]) -> list[AgentInvocation]:
    """The invocations of `agent` in a trial, in order; none where no call is known to have run it."""
    trajectory = trial.trajectory
    writes = {tool.name for tool in tools if tool.effect == "write"}
    found: list[AgentInvocation] = []
    for step in trajectory.steps:
        ran = [call for call in step.calls if call.delegated_to == agent]
        own = [one for one in trajectory.steps if one.agent == agent and one.parent == step.index]
        for call, steps in zip(ran, _runs(own), strict=False):
            began = steps[0].index
            seen = trajectory.observations.get(call.id)
            found.append(
                AgentInvocation(
                    case_id=trial.case_id,
                    agent=agent,
                    number=len(found) + 1,
                    step=step.index,
                    given=_given(call),
                    before=tuple(_succeeded(trajectory, writes, began)),
                    calls=tuple(_made(steps)),
                    returned=None if seen is None else seen.content,
                )
            )
    return found


def invocations_by_case(
    trials: Iterable[Trial], agent: str, tools: Sequence[ToolSpec]
) -> Mapping[str, tuple[AgentInvocation, ...]]:
    """The invocations of the first trial of each case that has one."""
    found: dict[str, tuple[AgentInvocation, ...]] = {}
    for trial in trials:
        if trial.case_id not in found and (own := tuple(invocations_of(trial, agent, tools))):
            found[trial.case_id] = own
    return found


def _runs(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps of each run of the agent: a run ends with a step that makes no call."""
    runs: list[list[Step]] = []
    open_run: list[Step] = []
    for step in steps:
        open_run.append(step)
        if not step.calls:
            runs.append(open_run)
            open_run = []
    return [*runs, open_run] if open_run else runs


def _given(call: ToolCall) -> str:
    arguments: JsonObject = call.arguments or {}
    values = list(arguments.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return call.unparsed or canonical_json(arguments)


def _made(steps: Iterable[Step]) -> Iterator[ToolInvocation]:
    for step in steps:
        for call in step.calls:
            yield ToolInvocation(tool=call.name, arguments=call.arguments or {})


def _succeeded(trajectory: Trajectory, writes: set[str], before: int) -> Iterator[ToolInvocation]:
    seen = trajectory.observations
    for step in trajectory.steps[:before]:
        for call in step.calls:
            if call.name in writes and call.arguments is not None and call.id in seen and seen[call.id].error is None:
                yield ToolInvocation(tool=call.name, arguments=call.arguments)
