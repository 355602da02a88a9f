"""The content of a span, in every spelling of the conventions: GenAI old and new, OpenInference, traceloop."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import JsonValue

from harness.errors import InvalidDocument
from harness.traces.foreign_json import Record, embedded_json
from harness.traces.formats.found import FoundTool, tool_of
from harness.traces.formats.span_messages import (
    Message,
    decoded,
    foreign_result,
    message_of,
    messages_in,
    unflattened,
)
from harness.traces.formats.transcript import ForeignResult
from harness.traces.spans import Span
from harness.traces.trajectory import Usage
from harness.traces.usage import usage_in
from harness.values import JsonObject, some_text

SpanKind = Literal["chat", "tool", "agent", "chain", "other"]

_AGENT = ("gen_ai.agent.name", "agent.name", "llm.agent.name")
_AGENT_OF_LANGCHAIN = "lc_agent_name"
"""In the JSON of OpenInference's `metadata`."""
_PROGRAM = ("gen_ai.workflow.name", "traceloop.entity.name")
MODEL = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "llm.response.model", "llm.request.model")
TOOL = ("gen_ai.tool.name", "tool.name", "tool_call.function.name", "traceloop.entity.name")
_CALL_ID = ("gen_ai.tool.call.id", "tool_call.id", "tool.call.id")
_ARGUMENTS = (
    "gen_ai.tool.call.arguments", "tool_call.function.arguments", "tool.parameters", "gcp.vertex.agent.tool_call_args",
    "input.value", "traceloop.entity.input",
)  # fmt: skip
_RESULT = ("gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "output.value", "traceloop.entity.output")
_USAGE = re.compile(r"(?:gen_ai|llm|ai)\.(?:usage|token_count)\.(.+)")
_KINDS: Mapping[str, SpanKind] = MappingProxyType(
    {
        "chat": "chat", "generate_content": "chat", "text_completion": "chat", "completion": "chat", "LLM": "chat",
        "llm": "chat", "execute_tool": "tool", "TOOL": "tool", "tool": "tool", "invoke_agent": "agent",
        "AGENT": "agent", "agent": "agent", "invoke_workflow": "agent", "CHAIN": "chain", "workflow": "chain",
    }
)  # fmt: skip
_KIND_NAMES = ("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "llm.request.type")
_EVENT_ROLES: Mapping[str, str] = MappingProxyType(
    {
        "gen_ai.system.message": "system",
        "gen_ai.user.message": "user",
        "gen_ai.assistant.message": "assistant",
        "gen_ai.tool.message": "tool",
    }
)
_DETAILS = "gen_ai.client.inference.operation.details"
_EVALUATION = "gen_ai.evaluation.result"


def first(span: Span, names: Sequence[str]) -> JsonValue:
    """The first existing attribute."""
    return next((span.attributes[name] for name in names if span.attributes.get(name) is not None), None)


def first_text(span: Span, names: Sequence[str]) -> str | None:
    found = first(span, names)
    return None if found is None else str(found)


def kind_of_span(span: Span) -> SpanKind:
    """The kind of a span; "other" for a span that is not a step of an agent."""
    for name in _KIND_NAMES:
        kind = _KINDS.get(str(span.attributes.get(name)))
        if kind is not None:
            return kind
    return "other"


def is_bare_model_span(span: Span) -> bool:
    """Whether OpenInference marks it as a model's, and it has neither messages nor tokens nor an error: LlamaIndex
    also marks the functions that prepare a request.
    """
    told = any(name.startswith(_OF_A_REQUEST) for name in span.attributes)
    return span.attributes.get("openinference.span.kind") == "LLM" and not told and span.status != "error"


_OF_A_REQUEST = ("llm.input_messages", "llm.output_messages", "llm.token_count", "gen_ai.")


def agent_of_span(span: Span) -> str | None:
    """The name of the agent that a span says it is of."""
    found = first_text(span, _AGENT)
    if found is None and "metadata" in span.attributes:
        raw = span.attributes["metadata"]
        facts = embedded_json(raw) if isinstance(raw, str) else raw
        found = some_text(facts.get(_AGENT_OF_LANGCHAIN)) if isinstance(facts, dict) else None
    return found


def program_of_span(span: Span) -> str:
    """What the span of an agent without a name of its own is called."""
    return first_text(span, _PROGRAM) or span.name


def usage_of_span(span: Span) -> Usage | None:
    named = ((_USAGE.fullmatch(name), value) for name, value in span.attributes.items())
    return usage_in(*({found[1]: value} for found, value in named if found)).of_step()


def arguments_of_span(span: Span) -> JsonValue:
    """What a tool was called with; None if they were not captured. Smolagents, traceloop and Langfuse store them as
    `args` and `kwargs`, traceloop also below `inputs`, and Strands in an event.
    """
    for name in ("input.value", "traceloop.entity.input", "gen_ai.tool.call.arguments"):
        raw = span.attributes.get(name)
        plain = embedded_json(raw) if isinstance(raw, str) else raw
        if isinstance(plain, dict) and plain.keys() == {"args", "kwargs"}:
            args, kwargs = plain["args"], plain["kwargs"]
            named = embedded_json(str(span.attributes.get("tool.parameters")))
            names = list(named) if isinstance(named, dict) else []
            given = args if isinstance(args, list) else []
            placed = {names[place] if place < len(names) else f"arg{place}": value for place, value in enumerate(given)}
            return {**placed, **(kwargs if isinstance(kwargs, dict) else {})}
        if name == "traceloop.entity.input" and isinstance(plain, dict) and isinstance(plain.get("inputs"), dict):
            return plain["inputs"]
    found = first(span, _ARGUMENTS)
    return _content_of_call(inputs_of(span)) if found is None and span.events else found


def result_of_span(span: Span) -> ForeignResult:
    """What a tool's span says of its result; its content is None if it was not captured."""
    content = first(span, _RESULT)
    if content is None and span.events:
        content = _content_of_call(outputs_of(span) or ())
    found = foreign_result(decoded(content))
    return replace(found, call_id=first_text(span, _CALL_ID) or found.call_id)


def _content_of_call(messages: Iterable[Message]) -> JsonValue:
    """Arguments or a result, which stand in the message of a tool's span."""
    for message in messages:
        for call in message.calls:
            return call.arguments
        for result in message.results:
            return result.content
        if message.text is not None:
            return message.text
    return None


_TASKS = ("task", "question", "query", "user_input", "prompt", "goal")


def task_of_span(span: Span) -> str | None:
    """The task that an agent's span was started with, if it names one."""
    raw = span.attributes.get("input.value")
    plain = embedded_json(raw) if isinstance(raw, str) else raw
    told = [plain.get(name) for name in _TASKS] if isinstance(plain, dict) else []
    return next((task for task in told if isinstance(task, str) and task.strip()), None)


def inputs_of(span: Span) -> list[Message]:
    """The model's input: the whole history, which nearly every convention repeats."""
    facts = _with_details(span)
    found = _system(facts) + (_messages(facts, _INPUTS, "user") or [])
    return found or [message_of(_decoded_attributes(event), role) for event, role in _role_events(span)]


def outputs_of(span: Span) -> list[Message] | None:
    """The model's answer; None if it was not captured."""
    facts = _with_details(span)
    found = _messages(facts, _OUTPUTS, "assistant")
    if found:
        return found
    choices = [_decoded_attributes(event) for event in span.events if event.get("name") == "gen_ai.choice"]
    return [_choice(choice) for choice in choices] or None


_INPUTS = ("gen_ai.input.messages", "llm.input_messages", "gen_ai.prompt", "input.value")
_OUTPUTS = ("gen_ai.output.messages", "llm.output_messages", "gen_ai.completion", "output.value")


def tools_of_span(span: Span) -> tuple[FoundTool, ...] | None:
    """The tools that a model or an agent was offered, or that a call was of; None if they are not recorded."""
    described = span.attributes.get("tool.description", span.attributes.get("gen_ai.tool.description"))
    if described is not None:
        schema = span.attributes.get("gen_ai.tool.json_schema")
        plain = embedded_json(schema) if isinstance(schema, str) else schema
        name = first_text(span, TOOL)
        parameters = {"parameters": plain} if isinstance(plain, dict) else {}
        told = _tool({"name": name, "description": described, **parameters})
        return None if told is None else (told,)
    facts = _with_details(span)
    raw = facts.get("gen_ai.tool.definitions")
    plain = embedded_json(raw) if isinstance(raw, str) else raw
    listed = plain if isinstance(plain, list) else [_schema(item) for item in unflattened(facts, "llm.tools")]
    found = [tool for tool in map(_tool, listed) if tool is not None]
    return tuple(found) or None


def scores_of_span(span: Span) -> dict[str, float]:
    """Evaluations by name, from events of a span."""
    found: dict[str, float] = {}
    for event in span.events:
        facts = _decoded_attributes(event)
        value = facts.get("gen_ai.evaluation.score.value")
        if event.get("name") == _EVALUATION and isinstance(value, int | float):
            found[str(facts.get("gen_ai.evaluation.name"))] = float(value)
    return found


def _with_details(span: Span) -> JsonObject:
    details = [_decoded_attributes(event) for event in span.events if event.get("name") == _DETAILS]
    older = [
        _decoded_attributes(event)
        for event in span.events
        if event.get("name") in ("gen_ai.content.prompt", "gen_ai.content.completion")
    ]
    merged = dict(span.attributes)
    for facts in details + older:
        merged |= {name: value for name, value in facts.items() if value is not None}
    return merged


def _messages(facts: JsonObject, names: Sequence[str], role: str) -> list[Message] | None:
    for name in names:
        flat = unflattened(facts, name)
        if flat:
            return [message_of(item, role) for item in flat]
        raw = facts.get(name)
        if raw is None:
            continue
        found = messages_in(raw, role)
        if found:
            return found
        if isinstance(raw, str) and not name.endswith(".messages"):
            return [Message(role=role, text=raw)]
    return None


def _system(facts: JsonObject) -> list[Message]:
    raw = facts.get("gen_ai.system_instructions")
    plain = (embedded_json(raw) or raw) if isinstance(raw, str) else raw
    if plain is None:
        return []
    parts: JsonValue = plain if isinstance(plain, list) else [{"type": "text", "content": plain}]
    return [message_of({"role": "system", "parts": parts}, "system")]


def _role_events(span: Span) -> list[tuple[JsonObject, str]]:
    return [(event, _EVENT_ROLES[name]) for event in span.events if (name := str(event.get("name"))) in _EVENT_ROLES]


def _choice(facts: JsonObject) -> Message:
    message = facts.get("message")
    plain = embedded_json(message) if isinstance(message, str) else message
    if isinstance(plain, dict):
        outer = facts.get("tool_calls")
        return message_of({"tool_calls": outer, **plain} if outer is not None else plain, "assistant")
    return message_of(facts if plain is None else {"content": message}, "assistant")


def _decoded_attributes(event: JsonObject) -> JsonObject:
    """An event's attributes, with JSON texts parsed."""
    attributes = event.get("attributes")
    if not isinstance(attributes, dict):
        return {}
    opened = {name: embedded_json(value) if isinstance(value, str) else None for name, value in attributes.items()}
    return {
        name: opened[name] if isinstance(opened[name], list | dict) else value for name, value in attributes.items()
    }


def _schema(item: JsonObject) -> JsonValue:
    tool = item.get("tool")
    schema = tool.get("json_schema") if isinstance(tool, dict) else None
    plain = embedded_json(schema) if isinstance(schema, str) else schema
    if not isinstance(plain, dict):
        return tool
    return {**(tool if isinstance(tool, dict) else {}), **plain}


def _tool(raw: JsonValue) -> FoundTool | None:
    """A definition that is none is not a tool: what a trace tells beside its spans is never worth a refusal."""
    try:
        return tool_of(Record(path=Path(), data={}).within("tool", raw))
    except InvalidDocument:
        return None
