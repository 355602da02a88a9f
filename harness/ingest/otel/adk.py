"""Spans of Google's Agent Development Kit, with the attributes of the GenAI conventions.

A request to the model is the span `call_llm`, which names no operation; request and response stand in it as JSON of
Gemini. Where several tools ran at once, a span of `(merged tools)` repeats their answers for ADK's own viewer.
"""

from collections.abc import Iterator
from typing import Final

from harness.ingest.otel.dumped import dumped, objects, opened
from harness.trace import Span, names
from harness.values import JsonObject, JsonValue

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
        names.INPUT_MESSAGES: dumped(objects(asked.get("contents"))),
        names.OUTPUT_MESSAGES: dumped([replied]) if isinstance(replied, dict) and replied.get("parts") else None,
        names.TOOL_DEFINITIONS: dumped(list(_declarations(settings.get("tools")))),
    }


def _instruction(raw: JsonValue) -> JsonValue:
    """A text, or Gemini's content with parts."""
    if not isinstance(raw, dict):
        return raw if isinstance(raw, str) else None
    texts = [str(part["text"]) for part in objects(raw.get("parts")) if part.get("text")]
    return "\n".join(texts) or None


def _declarations(tools: JsonValue) -> Iterator[JsonValue]:
    """Gemini's declarations; their types are in capitals, JSON Schema's are not."""
    for tool in objects(tools):
        for one in objects(tool.get("function_declarations")):
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
