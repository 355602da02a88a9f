"""Spans of the Vercel AI SDK, Langfuse, ADK and Claude Code, with the attributes of the GenAI conventions."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from harness.traces import names
from harness.traces.foreign_json import embedded_json
from harness.traces.spans import Span
from harness.traces.usage import usage_in
from harness.values import JsonObject, objects_of


def opened(raw: JsonValue) -> JsonValue:
    """The value of a JSON text; any other value as it is."""
    if not isinstance(raw, str):
        return raw
    plain = embedded_json(raw)
    return raw if plain is None else plain


def dumped(value: Mapping[str, JsonValue] | Sequence[JsonValue] | None) -> str | None:
    """The value as JSON text; None for an empty one."""
    return json.dumps(value, ensure_ascii=False) if value else None


# Spans of Google's Agent Development Kit, with the attributes of the GenAI conventions.
#
# A request to the model is the span `call_llm`, which names no operation; request and response are in it as JSON of
# Gemini. If several tools ran at once, a span of `(merged tools)` repeats their answers for ADK's own viewer.

_REQUEST: Final = "gcp.vertex.agent.llm_request"
_RESPONSE: Final = "gcp.vertex.agent.llm_response"
_CALL: Final = "call_llm"
_MERGED: Final = "(merged tools)"
_NOT_SPECIFIED: Final = "<not specified>"


def is_adk(span: Span) -> bool:
    """Whether it is a span of ADK that the conventions alone do not explain."""
    facts = span.attributes
    return _REQUEST in facts or (span.name == _CALL and facts.get("gen_ai.system") == "gcp.vertex.agent")


def adk_attributes(span: Span) -> JsonObject:
    """The attributes that replace those of the span; None removes one."""
    facts = span.attributes
    if facts.get(names.OPERATION) == names.EXECUTE_TOOL:
        if facts.get(names.TOOL_NAME) == _MERGED:
            return {names.OPERATION: None}
        unknown = facts.get(names.TOOL_CALL_ID) == _NOT_SPECIFIED
        return {names.TOOL_CALL_ID: None} if unknown else {}
    request, response = opened(facts.get(_REQUEST)), opened(facts.get(_RESPONSE))
    asked = request if isinstance(request, dict) else {}
    replied = response.get("content") if isinstance(response, dict) else None
    config = asked.get("config")
    settings = config if isinstance(config, dict) else {}
    return {
        names.OPERATION: names.CHAT,
        names.SYSTEM: _instruction(settings.get("system_instruction")),
        names.INPUT_MESSAGES: dumped(objects_of(asked.get("contents"))),
        names.OUTPUT_MESSAGES: dumped([replied]) if isinstance(replied, dict) and replied.get("parts") else None,
        names.TOOL_DEFINITIONS: dumped(list(_declarations(settings.get("tools")))),
    }


def _instruction(raw: JsonValue) -> JsonValue:
    """A text, or Gemini's content with parts."""
    if not isinstance(raw, dict):
        return raw if isinstance(raw, str) else None
    texts = [str(part["text"]) for part in objects_of(raw.get("parts")) if part.get("text")]
    return "\n".join(texts) or None


def _declarations(tools: JsonValue) -> Iterator[JsonValue]:
    """Gemini's declarations; their types are in capitals, JSON Schema's are not."""
    for tool in objects_of(tools):
        for one in objects_of(tool.get("function_declarations")):
            schema = one.get("parameters_json_schema") or _schema(one.get("parameters"))
            yield {**one, "parameters": schema or {"type": "object", "properties": {}}}


def _schema(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_schema(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: item.lower() if name == "type" and isinstance(item, str) else _schema(item)
        for name, item in value.items()
    }


# Spans of Langfuse and ADK, with the attributes of the GenAI conventions.
#
# What a span says in its own names is added under the conventions' names; everything else reads the conventions only.

_LANGFUSE: Final[Mapping[str, str]] = {
    "generation": names.CHAT, "tool": names.EXECUTE_TOOL, "agent": names.INVOKE_AGENT
}  # fmt: skip


def as_genai(spans: Sequence[Span]) -> list[Span]:
    """The same spans under the names of the conventions."""
    return [_translated(span) for span in spans]


def _translated(span: Span) -> Span:
    facts = span.attributes
    if is_adk(span):
        changed = {**facts, **adk_attributes(span)}
        return span.model_copy(update={"attributes": {name: one for name, one in changed.items() if one is not None}})
    converted = _langfuse(span) if "langfuse.observation.type" in facts else _vercel(facts)
    fresh = {name: value for name, value in converted.items() if value is not None and facts.get(name) is None}
    return span.model_copy(update={"attributes": {**facts, **fresh}}) if fresh else span


def _langfuse(span: Span) -> JsonObject:
    facts = span.attributes
    operation = _LANGFUSE.get(str(facts["langfuse.observation.type"]))
    given, gave = facts.get("langfuse.observation.input"), facts.get("langfuse.observation.output")
    if operation == names.EXECUTE_TOOL:
        return {
            names.OPERATION: operation,
            names.TOOL_NAME: span.name,
            names.TOOL_ARGUMENTS: given,
            names.TOOL_RESULT: gave,
        }
    asked, usage = opened(given), opened(facts.get("langfuse.observation.usage_details"))
    used = usage_in(usage if isinstance(usage, dict) else {})
    return {
        names.OPERATION: operation,
        names.AGENT_NAME: span.name if operation == names.INVOKE_AGENT else None,
        names.REQUEST_MODEL: facts.get("langfuse.observation.model.name"),
        names.INPUT_MESSAGES: _messages(given, "user") if operation == names.CHAT else None,
        names.TOOL_DEFINITIONS: dumped(objects_of(asked.get("tools"))) if isinstance(asked, dict) else None,
        names.OUTPUT_MESSAGES: _messages(gave, "assistant") if operation == names.CHAT else None,
        names.INPUT_TOKENS: used.input,
        names.OUTPUT_TOKENS: used.output,
    }


_VERCEL: Final = re.compile(r"ai\.\w+\.do(Generate|Stream)|ai\.toolCall")
"""The requests and tool calls; the spans around them repeat their usage."""
_VERCEL_PARTS: Final = {"tool-call": "tool_call", "tool-result": "tool_call_response"}


def _vercel(facts: JsonObject) -> JsonObject:
    found = _VERCEL.fullmatch(str(facts.get("ai.operationId")))
    if found is None:
        return {}
    if found[1] is None:
        return {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: facts.get("ai.toolCall.name"),
            names.TOOL_CALL_ID: facts.get("ai.toolCall.id"),
            names.TOOL_ARGUMENTS: facts.get("ai.toolCall.args"),
            names.TOOL_RESULT: facts.get("ai.toolCall.result"),
        }
    text, calls = facts.get("ai.response.text"), objects_of(opened(facts.get("ai.response.toolCalls")))
    said: list[JsonValue] = [{"type": "text", "content": text}] if isinstance(text, str) and text else []
    said += [_vercel_part({"type": "tool-call", **call}) for call in calls]
    asked = objects_of(opened(facts.get("ai.prompt.messages")))
    return {
        names.OPERATION: names.CHAT,
        names.REQUEST_MODEL: facts.get("ai.model.id"),
        names.INPUT_MESSAGES: dumped([_vercel_message(message) for message in asked]),
        names.OUTPUT_MESSAGES: dumped([{"role": "assistant", "parts": said}]) if said else None,
    }


def _vercel_message(message: JsonObject) -> JsonObject:
    content = message.get("content")
    return {
        **message,
        "content": [_vercel_part(part) for part in objects_of(content)] if objects_of(content) else content,
    }


def _vercel_part(part: JsonObject) -> JsonObject:
    kind = _VERCEL_PARTS.get(str(part.get("type")))
    if kind is None:
        return part
    output = part.get("output", part.get("result"))
    return {
        "type": kind,
        "id": part.get("toolCallId"),
        "name": part.get("toolName"),
        "arguments": opened(part.get("args", part.get("input"))),
        "response": output.get("value") if isinstance(output, dict) and "value" in output else output,
    }


def _messages(raw: JsonValue, role: str) -> str | None:
    """Messages as they are, or a text as one message."""
    plain = opened(raw)
    if isinstance(plain, dict | list):
        return dumped(plain)
    return None if plain is None else dumped([{"role": role, "parts": [{"type": "text", "content": plain}]}])
