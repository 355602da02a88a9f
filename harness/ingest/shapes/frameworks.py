"""Messages and events of agent frameworks, each as the chat messages that say the same.

Known are LangChain's serialised messages, AutoGen's messages and events, events of OpenHands, lines of Claude Code's
transcripts, turns of Cohere's history, and ShareGPT's calls.
"""

from collections.abc import Callable, Sequence
from typing import Final

from harness.ingest.reading import embedded_json
from harness.ingest.shapes.openhands import openhands_event
from harness.values import JsonObject, JsonValue

_Read = Callable[[JsonObject], list[JsonObject] | None]
_LANGCHAIN: Final = ("human", "ai", "system", "tool", "function", "chat")


def framework_messages(item: JsonObject) -> list[JsonObject] | None:
    """The chat messages of one message or event; None: it is of no framework that is known here."""
    return next((found for read in _READERS if (found := read(item)) is not None), None)


def _langchain(item: JsonObject) -> list[JsonObject] | None:
    """`{"type": "human", "data": {...}}`, and `{"lc": 1, "id": [..., "HumanMessage"], "kwargs": {...}}`."""
    inner, kind = item.get("data"), item.get("type")
    if "lc" in item and isinstance(item.get("kwargs"), dict):
        inner, name = item["kwargs"], item.get("id")
        last = name[-1] if isinstance(name, list) and name and isinstance(name[-1], str) else ""
        kind = last.removesuffix("Chunk").removesuffix("Message").casefold()
    if not isinstance(inner, dict) or kind not in _LANGCHAIN or "content" not in inner:
        return None
    error: JsonObject = {"is_error": inner["status"] == "error"} if isinstance(inner.get("status"), str) else {}
    return [{**inner, **error, "role": inner.get("role") or kind}]


def _claude_code(item: JsonObject) -> list[JsonObject] | None:
    """A line of a transcript: the message of an API request or reply, inside of what the program notes of it."""
    inner = item.get("message")
    if item.get("type") not in ("user", "assistant") or not isinstance(inner, dict) or "role" not in inner:
        return [] if "sessionId" in item and "type" in item and "role" not in item else None
    return [inner] if "content" in inner else None


def _autogen(item: JsonObject) -> list[JsonObject] | None:
    kind, source = item.get("type"), item.get("source")
    if not isinstance(source, str) or not isinstance(kind, str) or "content" not in item:
        return None
    said: JsonObject = {"role": "assistant", "name": source}
    match kind:
        case "ToolCallRequestEvent":
            calls: list[JsonValue] = [{"id": one.get("id"), "function": one} for one in _objects(item["content"])]
            return [{**said, "tool_calls": calls}]
        case "ToolCallExecutionEvent":
            return [_executed(one) for one in _objects(item["content"])]
        case "ToolCallSummaryMessage" | "ThoughtEvent":  # the former has the results once more
            return [{**said, "reasoning": item["content"]}] if kind == "ThoughtEvent" else []
        case _:
            pass
    if not kind.endswith(("Message", "Event")):
        return None
    role = "user" if source.casefold() in ("user", "human") else "assistant"
    return [{**said, "role": role, "content": item["content"]}]


def _executed(one: JsonObject) -> JsonObject:
    flag = one.get("is_error")
    told: JsonObject = {"role": "tool", "tool_call_id": one.get("call_id"), "name": one.get("name")}
    return {**told, "content": one.get("content"), "is_error": flag if isinstance(flag, bool) else None}


def _cohere(item: JsonObject) -> list[JsonObject] | None:
    if item.get("role") not in ("USER", "CHATBOT", "SYSTEM", "TOOL") or not (
        "message" in item or "tool_results" in item
    ):
        return None
    results = [
        {"role": "tool", "name": call.get("name"), "content": one.get("outputs")}
        for one in _objects(item.get("tool_results"))
        for call in _objects([one.get("call")])
    ]
    if item["role"] == "TOOL":
        return results
    role = {"USER": "user", "CHATBOT": "assistant", "SYSTEM": "system"}[str(item["role"])]
    calls: list[JsonValue] = [
        {"function": {"name": one.get("name"), "arguments": one.get("parameters")}}
        for one in _objects(item.get("tool_calls"))
    ]
    said: JsonObject = {"role": role, "content": item.get("message")}
    return [*results, {**said, "tool_calls": calls} if calls else said]


def _sharegpt(item: JsonObject) -> list[JsonObject] | None:
    if item.get("from", item.get("role")) not in ("function_call", "tool_call"):
        return None
    written = item.get("value", item.get("content"))
    parsed = embedded_json(written) if isinstance(written, str) else written
    calls = [
        one for one in (parsed if isinstance(parsed, list) else [parsed]) if isinstance(one, dict) and one.get("name")
    ]
    if not calls:
        return None
    found: list[JsonValue] = [
        {"function": {"name": one["name"], "arguments": one.get("arguments", one.get("parameters"))}} for one in calls
    ]
    return [{"role": "assistant", "tool_calls": found}]


def _objects(value: JsonValue) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


_READERS: Final[Sequence[_Read]] = (_langchain, _claude_code, _autogen, openhands_event, _cohere, _sharegpt)
