"""Spans of the Vercel AI SDK and of Langfuse, and events of Claude Code, with the attributes of the GenAI conventions.

What a span says in its own names is added under the conventions' names, where it has none of them; everything else
reads the conventions only. Events of Claude Code are log records without spans: prompts, requests to the model and
results of tools; the text of a reply is not among them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from harness.ingest.reading import embedded_json
from harness.trace import Span, names
from harness.values import JsonObject, JsonValue

_LANGFUSE: Final[Mapping[str, str]] = {
    "generation": names.CHAT, "tool": names.EXECUTE_TOOL, "agent": names.INVOKE_AGENT
}  # fmt: skip
_CLAUDE: Final = "claude_code."


def as_genai(spans: Sequence[Span]) -> list[Span]:
    """The same spans, in the same order."""
    translated = [_translated(span) for span in spans]
    if any(_claude_event(span) for span in translated):
        return _with_prompts(translated)
    return translated


def _translated(span: Span) -> Span:
    facts = span.attributes
    converted: JsonObject | None = None
    if "ai.operationId" in facts:
        converted = _vercel(facts)
    elif "langfuse.observation.type" in facts:
        converted = _langfuse(span)
    elif event := _claude_event(span):
        converted = _claude(event, facts)
    if not converted:
        return span
    fresh = {name: value for name, value in converted.items() if value is not None and facts.get(name) is None}
    failed = fresh.pop("failed", None) is True
    attributes = {**facts, **fresh}
    return span.model_copy(update={"attributes": attributes, **({"status": "error"} if failed else {})})


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
    messages = _opened(facts.get("ai.prompt.messages"))
    reply: list[JsonValue] = []
    if facts.get("ai.response.text"):
        reply.append({"type": "text", "content": facts["ai.response.text"]})
    calls = _opened(facts.get("ai.response.toolCalls"))
    reply += [_vercel_part({"type": "tool-call", **call}) for call in _objects(calls)]
    return {
        names.OPERATION: names.CHAT,
        names.REQUEST_MODEL: facts.get("ai.model.id"),
        names.INPUT_MESSAGES: _dumped([_vercel_message(one) for one in _objects(messages)]),
        names.OUTPUT_MESSAGES: _dumped([{"role": "assistant", "parts": reply}]) if reply else None,
        names.TOOL_DEFINITIONS: _dumped([_opened(tool) for tool in _list(facts.get("ai.prompt.tools"))]),
        names.INPUT_TOKENS: facts.get("ai.usage.promptTokens", facts.get("ai.usage.inputTokens")),
        names.OUTPUT_TOKENS: facts.get("ai.usage.completionTokens", facts.get("ai.usage.outputTokens")),
    }


def _vercel_message(message: JsonObject) -> JsonObject:
    content = message.get("content")
    if not isinstance(content, list):
        return {"role": message.get("role"), "parts": [{"type": "text", "content": content}]}
    return {"role": message.get("role"), "parts": [_vercel_part(part) for part in _objects(content)]}


def _vercel_part(part: JsonObject) -> JsonObject:
    match part.get("type"):
        case "tool-call":
            asked = _opened(part.get("args", part.get("input")))
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
    usage = _opened(facts.get("langfuse.observation.usage_details"))
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
    plain = _opened(raw)
    if isinstance(plain, dict | list):
        return _dumped(plain)
    return None if plain is None else _dumped([{"role": role, "parts": [{"type": "text", "content": plain}]}])


def _claude_event(span: Span) -> str:
    """The name of an event of Claude Code without its prefix; "" for everything else."""
    content = span.attributes.get("content")
    for candidate in (span.name, content if isinstance(content, str) else ""):
        if candidate.startswith(_CLAUDE):
            return candidate.removeprefix(_CLAUDE)
    return ""


def _claude(event: str, facts: JsonObject) -> JsonObject:
    readers: Mapping[str, Callable[[JsonObject], JsonObject]] = {
        "api_request": _claude_request,
        "tool_result": _claude_tool,
    }
    reader = readers.get(event)
    return {} if reader is None else reader(facts)


def _claude_request(facts: JsonObject) -> JsonObject:
    return {
        names.OPERATION: names.CHAT,
        names.REQUEST_MODEL: facts.get("model"),
        names.INPUT_TOKENS: _whole(facts.get("input_tokens")),
        names.OUTPUT_TOKENS: _whole(facts.get("output_tokens")),
    }


def _claude_tool(facts: JsonObject) -> JsonObject:
    failed = str(facts.get("success")).lower() == "false"
    return {
        names.OPERATION: names.EXECUTE_TOOL,
        names.TOOL_NAME: facts.get("tool_name"),
        names.TOOL_ARGUMENTS: facts.get("tool_input", facts.get("tool_parameters")),
        names.TOOL_RESULT: None if failed else facts.get("tool_output", "(the result was not captured)"),
        names.TOOL_ERROR_MESSAGE: facts.get("error") if failed else None,
        names.ERROR_TYPE: "tool_error" if failed else None,
        "failed": failed,
    }


def _with_prompts(spans: Sequence[Span]) -> list[Span]:
    """The prompts so far as the input of each request to the model, as other instrumentations repeat the history."""
    said: list[JsonValue] = []
    found: list[Span] = []
    for span in sorted(spans, key=lambda one: one.start_ns):
        event = _claude_event(span)
        if event == "user_prompt" and isinstance(span.attributes.get("prompt"), str):
            said.append({"role": "user", "parts": [{"type": "text", "content": span.attributes["prompt"]}]})
        if event == "api_request" and said:
            attributes = {**span.attributes, names.INPUT_MESSAGES: _dumped(said)}
            found.append(span.model_copy(update={"attributes": attributes}))
        else:
            found.append(span)
    return found


def _opened(raw: JsonValue) -> JsonValue:
    if not isinstance(raw, str):
        return raw
    plain = embedded_json(raw)
    return raw if plain is None else plain


def _objects(raw: JsonValue) -> list[JsonObject]:
    return [item for item in raw if isinstance(item, dict)] if isinstance(raw, list) else []


def _list(raw: JsonValue) -> list[JsonValue]:
    return raw if isinstance(raw, list) else []


def _whole(raw: JsonValue) -> JsonValue:
    return int(raw) if isinstance(raw, str) and raw.isascii() and raw.isdigit() and len(raw) < 16 else raw


def _dumped(value: JsonValue) -> str | None:
    return json.dumps(value, ensure_ascii=False) if value else None
