"""Spans of Langfuse and ADK, with the attributes of the GenAI conventions.

What a span says in its own names is added under the conventions' names; everything else reads the conventions only.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from harness.ingest.otel.adk import adk_attributes, is_adk
from harness.ingest.otel.dumped import dumped, opened
from harness.trace import Span, names
from harness.values import JsonObject, JsonValue

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
    converted = _langfuse(span) if "langfuse.observation.type" in facts else {}
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
    usage = opened(facts.get("langfuse.observation.usage_details"))
    counts = usage if isinstance(usage, dict) else {}
    return {
        names.OPERATION: operation,
        names.AGENT_NAME: span.name if operation == names.INVOKE_AGENT else None,
        names.REQUEST_MODEL: facts.get("langfuse.observation.model.name"),
        names.INPUT_MESSAGES: _messages(given, "user") if operation == names.CHAT else None,
        names.OUTPUT_MESSAGES: _messages(gave, "assistant") if operation == names.CHAT else None,
        names.INPUT_TOKENS: counts.get("input"),
        names.OUTPUT_TOKENS: counts.get("output"),
    }


def _messages(raw: JsonValue, role: str) -> str | None:
    """Messages as they stand, or a text as one message."""
    plain = opened(raw)
    if isinstance(plain, dict | list):
        return dumped(plain)
    return None if plain is None else dumped([{"role": role, "parts": [{"type": "text", "content": plain}]}])
