"""A trajectory: what one agent did in one trial, step by step.

A *step* is one decision: a message of the user or of the agent, or a tool call if no model traffic is observed.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import JsonValue

from harness.values import Frozen, JsonObject, canonical_json, digest_of_text, json_text

ToolErrorType = Literal[
    "unknown_tool",
    "not_allowed",
    "unparsable_arguments",
    "invalid_arguments",
    "tool_error",
    "tool_unavailable",
    "timeout",
    "reset",
    "malformed_result",
    "replay_miss",
    "limit_reached",
]
"""Closed. `tool_error`: the tool itself refused (4xx). `tool_unavailable`: it could not answer (5xx, no connection)."""

ReplayTier = Literal["exact", "exact_reused", "volatile_reused", "fixture", "fault", "miss", "live", "sealed"]
"""The source of an answer: the cassette (`exact`; `exact_reused`: the same read again; `volatile_reused`: likewise, of
a tool whose answers vary only in values that are declared volatile), a fixture pack, a fault that prevented the call,
no source, or a real service.
"""

Source = Literal["agent", "user", "system"]

EvidenceKind = Literal["observed", "self_reported"]
"""The source of the evidence. `observed`: the interaction passed the gateway. `self_reported`: only the agent reports
it, in its own spans or in the messages that it sends to its model. None (imported and older trajectories): unknown.
"""

Content = Literal["answer", "messages", "arguments", "results"]
"""What instrumentations leave out of spans unless they are told to capture content: what the agent answered in the end;
other texts of the user and of model replies; the arguments of calls; their results.
"""


class ToolCall(Frozen):
    """A call as the agent made it. `arguments` is None if the agent sent something other than a JSON object: see
    `unparsed`.
    """

    id: str
    name: str
    arguments: JsonObject | None
    unparsed: str | None = None
    evidence: EvidenceKind | None = None
    delegated_to: str | None = None
    """The sub-agent that the agent's program ran for this call, which is then no call of a tool of the suite. None: the
    call is one of a tool, or that is not known.
    """


class ToolFailure(Frozen):
    """What went wrong with a call, in a closed vocabulary."""

    type: ToolErrorType
    message: str


class Observation(Frozen):
    """The result that the agent received for the call `call_id`."""

    call_id: str
    content: JsonValue
    error: ToolFailure | None = None
    replayed: ReplayTier | None = None
    injected: str | None = None
    """Kind of the fault that was injected into this call; None: the tool itself gave the result."""
    duration_ms: float | None = None
    evidence: EvidenceKind | None = None


class Usage(Frozen):
    """The usage of one model reply; None if it was not reported."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class Step(Frozen):
    """One decision and its results; times are in nanoseconds of the monotonic clock since the session opened."""

    index: int
    source: Source
    agent: str | None = None
    """The name of the (sub-)agent; None: unknown."""
    parent: int | None = None
    asked_in: int | None = None
    """Index of the model's reply that names the calls of this step, if they crossed the gateway after a later step
    began. None: the step's calls are its own.
    """
    message: str | None = None
    thought: str | None = None
    """The agent's own reasoning text; absent is None, never ""."""
    plan: tuple[str, ...] | None = None
    calls: tuple[ToolCall, ...] = ()
    observations: tuple[Observation, ...] = ()
    model: str | None = None
    usage: Usage | None = None
    started_ns: int | None = None
    ended_ns: int | None = None
    span_id: str | None = None
    evidence: EvidenceKind | None = None
    """The evidence of the step as a whole; its calls and observations have their own."""


_NO_IDENTITY = frozenset({"started_ns", "ended_ns", "span_id", "evidence", "asked_in"})
_SELF_REPORTED: JsonObject = {"evidence": "self_reported"}
_UNMARKED: JsonObject = {}
"""Shared between calls and observations, because it is read-only."""


class Trajectory(Frozen):
    """All steps of one trial, in the order in which they began."""

    trace_id: str
    agent: str
    version: str | None = None
    steps: tuple[Step, ...]
    final_output: JsonValue = None
    prompts: tuple[str, ...] = ()
    """`name@version` of the prompts that spans name; not part of the digest, because the steps contain their effect."""
    uncaptured: tuple[Content, ...] = ()
    """What the spans that it was read from do not carry, so that nothing can be concluded from its absence; not part of
    the digest. Empty for everything that the gateway observed.
    """

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every tool call, in order."""
        return tuple(call for step in self.steps for call in step.calls)

    @property
    def observations(self) -> dict[str, Observation]:
        """Observations by the id of their call; of several with one id, an observed one takes precedence over
        self-reported ones.
        """
        every = [seen for step in self.steps for seen in step.observations]
        every.sort(key=lambda seen: seen.evidence != "self_reported")
        return {seen.call_id: seen for seen in every}

    @property
    def digest(self) -> str:
        """SHA-256 of actions and observations: without times, ids, replay tiers and versions, and without the order of
        the calls of one step.
        """
        # the canonical JSON of {"final_output", "steps"}, put together step by step: most have its quick way
        try:
            steps, output = ",".join(map(_identity_text, self.steps)), canonical_json(self.final_output)
        except ValueError:  # NaN or an infinity in data of an agent or a tool has no canonical JSON
            identities = [step_identity(step) for step in self.steps]
            return digest_of_text(json.dumps([self.final_output, identities], sort_keys=True, ensure_ascii=False))
        return digest_of_text(f'{{"final_output":{output},"steps":[{steps}]}}')


def step_identity(step: Step) -> JsonObject:
    """A step without times and ids: two runs with the same actions have equal identities."""
    plain: JsonObject = {name: value for name, value in vars(step).items() if name not in _NO_IDENTITY}
    plain["plan"] = None if step.plan is None else list(step.plan)
    plain["usage"] = None if step.usage is None else dict(vars(step.usage))
    plain["calls"] = _in_fixed_order([_call_identity(call) for call in step.calls])
    plain["observations"] = _in_fixed_order([_result_identity(seen) for seen in step.observations])
    return plain | _evidence_fields(step.evidence)


def _in_fixed_order(parts: list[JsonValue]) -> list[JsonValue]:
    """The calls of one step are decided together, and an agent that makes them at once does not order them: which one
    crosses the gateway first is chance.
    """
    if len(parts) < 2:
        return parts
    try:
        return sorted(parts, key=canonical_json)
    except ValueError:  # NaN has no canonical JSON
        return sorted(parts, key=lambda part: json.dumps(part, sort_keys=True, ensure_ascii=False))


def _call_identity(call: ToolCall) -> JsonObject:
    return {
        "name": call.name,
        "arguments": call.arguments,
        "unparsed": call.unparsed,
        **_evidence_fields(call.evidence),
    }


def _result_identity(seen: Observation) -> JsonObject:
    error = None if seen.error is None else seen.error.type
    return {"content": seen.content, "error": error, **_evidence_fields(seen.evidence)}


def _evidence_fields(evidence: EvidenceKind | None) -> JsonObject:
    """Marks only self-reported evidence, so that digests of trials without it stay unchanged."""
    return _SELF_REPORTED if evidence == "self_reported" else _UNMARKED


def _identity_text(step: Step) -> str:
    """The canonical JSON of `step_identity`, written part by part: keys that are sorted beforehand, and texts that are
    not searched for numbers, halve the time.
    """
    if step.evidence == "self_reported":
        return canonical_json(step_identity(step))
    parts = []
    values = vars(step)
    for name, key, write in _WRITTEN:
        value = values[name]
        if value is None:
            parts.append(f"{key}null")
        else:  # most are texts
            parts.append(key + (json_text(value) if type(value) is str else write(value)))
    return "{" + ",".join(parts) + "}"


def _calls_text(calls: tuple[ToolCall, ...]) -> str:
    return "[" + ",".join(sorted(map(_call_text, calls))) + "]"


def _call_text(call: ToolCall) -> str:
    if call.evidence == "self_reported":
        return canonical_json(_call_identity(call))
    name, unparsed = json_text(call.name), "null" if call.unparsed is None else json_text(call.unparsed)
    arguments = canonical_json(call.arguments)
    return f'{{"arguments":{arguments},"name":{name},"unparsed":{unparsed}}}'


def _results_text(observations: tuple[Observation, ...]) -> str:
    return "[" + ",".join(sorted(map(_result_text, observations))) + "]"


def _result_text(seen: Observation) -> str:
    if seen.evidence == "self_reported":
        return canonical_json(_result_identity(seen))
    content, error = canonical_json(seen.content), "null" if seen.error is None else json_text(seen.error.type)
    return f'{{"content":{content},"error":{error}}}'


def _usage_text(usage: Usage) -> str:
    cost, taken, given = map(canonical_json, (usage.cost_usd, usage.input_tokens, usage.output_tokens))
    return f'{{"cost_usd":{cost},"input_tokens":{taken},"output_tokens":{given}}}'


_WRITERS: Mapping[str, Callable[[Any], str]] = {
    "index": int.__repr__,
    "calls": _calls_text,
    "observations": _results_text,
    "usage": _usage_text,
}
_WRITTEN: Final = tuple(
    (name, f'"{name}":', _WRITERS.get(name, canonical_json)) for name in sorted(Step.model_fields.keys() - _NO_IDENTITY)
)
"""Field of a step, its key in JSON, and what writes its value."""


def with_final_answer(trajectory: Trajectory, answer: str) -> Trajectory:
    """The trajectory with another final answer, also in the step that contains it."""
    steps = list(trajectory.steps)
    said = [index for index, step in enumerate(steps) if step.source == "agent" and step.message is not None]
    if said and steps[said[-1]].message == trajectory.final_output:
        steps[said[-1]] = steps[said[-1]].model_copy(update={"message": answer})
    return trajectory.model_copy(update={"steps": tuple(steps), "final_output": answer})


# Calls by which one agent of a program runs another, such as an agent that is offered to a model as a tool.
#
# The program runs them by itself, so that the gateway observes no call: only the other agent's steps, while the call is
# open.


def with_delegations(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, their calls marked with the sub-agent that they ran.

    A call delegates if only the agent reports it and a sub-agent's step has the call's step as its parent. Of
    several such calls in one step, those whose name contains the sub-agent's name delegate.
    """
    ran: dict[int, list[str]] = {}
    for step in steps:
        if step.parent is not None and step.agent is not None:
            ran.setdefault(step.parent, []).append(step.agent)
    return tuple(_with_agents(step, ran[step.index]) if step.index in ran else step for step in steps)


def _with_agents(step: Step, agents: Sequence[str]) -> Step:
    own = [call for call in step.calls if call.evidence == "self_reported"]
    named = {id(call): agent for call in own if (agent := _agent_of(call, agents, alone=len(own) == 1)) is not None}
    if not named:
        return step
    calls = tuple(call.model_copy(update={"delegated_to": named.get(id(call))}) for call in step.calls)
    return step.model_copy(update={"calls": calls})


def _agent_of(call: ToolCall, agents: Sequence[str], *, alone: bool) -> str | None:
    named = next((agent for agent in agents if agent.casefold() in call.name.casefold()), None)
    return agents[0] if named is None and alone else named


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
    steps = tuple(_step_without(step, drops, keeps_message=keeps_message) for step in trajectory.steps)
    return trajectory.model_copy(update={"steps": steps})


def _step_without(step: Step, drops: Callable[[ToolCall], bool], *, keeps_message: bool) -> Step:
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
