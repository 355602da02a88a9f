"""Spans of the Vercel AI SDK, Langfuse, ADK and Claude Code, with the attributes of the GenAI conventions.

What a span says in its own names is added under the conventions' names; everything else reads the conventions only.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from harness.ingest.otel.adk import adk_attributes, is_adk
from harness.ingest.otel.claude_code import claude_code_spans, is_claude_code
from harness.ingest.otel.dumped import dumped, objects, opened
from harness.trace import Span, names
from harness.values import JsonObject, JsonValue

_LANGFUSE: Final[Mapping[str, str]] = {
    "generation": names.CHAT, "tool": names.EXECUTE_TOOL, "agent": names.INVOKE_AGENT
}  # fmt: skip


def as_genai(spans: Sequence[Span]) -> list[Span]:
    """The same spans under the names of the conventions, in the order of their start where events are among them."""
    translated = [_translated(span) for span in spans]
    return claude_code_spans(translated) if any(map(is_claude_code, translated)) else translated


def _translated(span: Span) -> Span:
    facts = span.attributes
    if is_adk(span):
        changed = {**facts, **adk_attributes(span)}
        return span.model_copy(update={"attributes": {name: one for name, one in changed.items() if one is not None}})
    converted: JsonObject = {}
    if "ai.operationId" in facts:
        converted = _vercel(facts)
    elif "langfuse.observation.type" in facts:
        converted = _langfuse(span)
    fresh = {name: value for name, value in converted.items() if value is not None and facts.get(name) is None}
    return span.model_copy(update={"attributes": {**facts, **fresh}}) if fresh else span


def _vercel(facts: JsonObject) -> JsonObject:
    operation = str(facts["ai.operationId"])
    if operation == "ai.toolCall":
        return {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL_NAME: facts.get("ai.toolCall.name"),
            names.TOOL_CALL_ID: facts.get("ai.toolCall.id"),
            names.TOOL_ARGUMENTS: facts.get("ai.toolCall.args"),
            names.TOOL_RESULT: facts.get("ai.toolCall.result"),
        }
    if not operation.endswith((".doGenerate", ".doStream")):
        agent = facts.get("ai.telemetry.functionId")
        return {names.OPERATION: names.INVOKE_AGENT, names.AGENT_NAME: agent}
    messages = opened(facts.get("ai.prompt.messages"))
    reply: list[JsonValue] = []
    if facts.get("ai.response.text"):
        reply.append({"type": "text", "content": facts["ai.response.text"]})
    calls = opened(facts.get("ai.response.toolCalls"))
    reply += [_vercel_part({"type": "tool-call", **call}) for call in objects(calls)]
    return {
        names.OPERATION: names.CHAT,
        names.REQUEST_MODEL: facts.get("ai.model.id"),
        names.INPUT_MESSAGES: dumped([_vercel_message(one) for one in objects(messages)]),
        names.OUTPUT_MESSAGES: dumped([{"role": "assistant", "parts": reply}]) if reply else None,
        names.TOOL_DEFINITIONS: dumped([opened(tool) for tool in _list(facts.get("ai.prompt.tools"))]),
        names.INPUT_TOKENS: facts.get("ai.usage.promptTokens", facts.get("ai.usage.inputTokens")),
        names.OUTPUT_TOKENS: facts.get("ai.usage.completionTokens", facts.get("ai.usage.outputTokens")),
    }


def _vercel_message(message: JsonObject) -> JsonObject:
    content = message.get("content")
    if not isinstance(content, list):
        return {"role": message.get("role"), "parts": [{"type": "text", "content": content}]}
    return {"role": message.get("role"), "parts": [_vercel_part(part) for part in objects(content)]}


def _vercel_part(part: JsonObject) -> JsonObject:
    match part.get("type"):
        case "tool-call":
            asked = opened(part.get("args", part.get("input")))
            return {"type": "tool_call", "id": part.get("toolCallId"), "name": part.get("toolName"), "arguments": asked}
        case "tool-result":
            result = part.get("result", part.get("output"))
            plain = result.get("value", result) if isinstance(result, dict) else result
            return {"type": "tool_call_response", "id": part.get("toolCallId"), "response": plain}
        case _:
            return {"type": "text", "content": part.get("text")}


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


def _list(raw: JsonValue) -> list[JsonValue]:
    return raw if isinstance(raw, list) else []
