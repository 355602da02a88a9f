"""Turns of a thought, an action and what was observed, each one object: SWE-agent's, and those of ReAct loops.

An action is text for a shell, `search[Rome]`, an object with a name and arguments, or a tool's name with its input in a
field beside it. `search("Rome")` is a call where every action of the log is written so; in a shell it is a command.
"""

from collections.abc import Sequence

from harness.ingest.content import result_of, text_of
from harness.ingest.foreign import ForeignCall, ForeignResult, ForeignStep
from harness.ingest.plain_errors import plain_failure
from harness.ingest.react_text import is_invocation, named_call, written_call
from harness.ingest.reading import Record
from harness.ingest.transcript import TranscriptBuilder
from harness.values import JsonValue

_ARGUMENTS = ("arguments", "args", "kwargs", "parameters", "action_input", "tool_input", "input")
_INPUT_BESIDE = ("action_input", "tool_input", "action_args", "arguments", "args")
_THOUGHT = ("thought", "thoughts", "reasoning", "response")
_OBSERVED = ("observation", "observations", "result", "tool_output", "output")
_SHELL = "bash"


def is_turn(value: JsonValue) -> bool:
    """Whether an object of a list is a turn and no message."""
    return isinstance(value, dict) and "action" in value and value.get("role") is None and value.get("from") is None


def add_turns(transcript: TranscriptBuilder, turns: Sequence[Record]) -> None:
    """Each turn as a step with at most one call and its result."""
    actions = [action.strip() for turn in turns if isinstance(action := turn.value("action"), str) and action.strip()]
    invoked = bool(actions) and all(map(is_invocation, actions))
    for turn in turns:
        call = _call(turn, invoked=invoked)
        calls = () if call is None else (call,)
        thought = text_of(turn.value(*_THOUGHT)) or None
        transcript.add(ForeignStep(source="agent", thought=thought, calls=calls, agent=_agent(turn)))
        observation = turn.value(*_OBSERVED)
        if calls and observation is not None:
            content = result_of(observation)
            transcript.result(ForeignResult(call_id=None, content=content, error=plain_failure(content)))


def _call(turn: Record, *, invoked: bool) -> ForeignCall | None:
    action = turn.value("action")
    if isinstance(action, dict):
        return _of_object(turn.within("action", action))
    text = (turn.text("action") or "").strip()
    if not text:
        return None
    input_field = turn.value(*_INPUT_BESIDE)
    if input_field is not None:
        found = named_call(text, input_field) if isinstance(input_field, str) else None
        return found or ForeignCall(id=None, name=text, arguments=input_field)
    return written_call(text, invoked=invoked) or ForeignCall(id=None, name=_SHELL, arguments={"command": text})


def _of_object(action: Record) -> ForeignCall:
    name = action.text("name", "tool", "tool_name", "function", "action", "type")
    if name is None:
        raise action.refusal("name", "is missing: every action names a tool")
    arguments = action.value(*_ARGUMENTS)
    if arguments is None:
        named = ("name", "tool", "tool_name", "function", "action", "type")
        arguments = {key: item for key, item in action.data.items() if key not in named}
    return ForeignCall(id=None, name=name, arguments=arguments)


def _agent(turn: Record) -> str | None:
    agent = turn.value("agent", "agent_name")
    return agent if isinstance(agent, str) and agent else None
