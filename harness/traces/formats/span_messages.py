"""Messages of a model call in a span's attributes, in the shapes of all instrumentations."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from harness.traces.foreign_json import embedded_json, text_of
from harness.traces.formats.transcript import ForeignCall, ForeignResult, read_arguments
from harness.traces.trajectory import ToolFailure
from harness.values import JsonObject, canonical_json


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of a model's input or output."""

    role: str
    text: str | None = None
    thought: str | None = None
    calls: tuple[ForeignCall, ...] = ()
    results: tuple[ForeignResult, ...] = ()

    @property
    def key(self) -> str:
        """The part that stays equal when an output is repeated in the history: no ids of calls, no reasoning, no outer
        spaces.
        """
        if self.results:
            raw: list[JsonValue] = [[result.call_id or result.content] for result in self.results]
            return canonical_json(["result", *raw])
        calls: list[JsonValue] = [[call.name, *read_arguments(call.arguments)] for call in self.calls]
        return canonical_json([self.role, (self.text or "").strip(), calls])


def messages_in(raw: JsonValue, default_role: str) -> list[Message] | None:
    """Messages that are structured or written as JSON text; None if it is neither."""
    plain = embedded_json(raw) if isinstance(raw, str) else raw
    if isinstance(plain, dict):
        inner = plain.get("messages")
        plain = inner if isinstance(inner, list) else [plain]
    if not isinstance(plain, list):
        return None
    return [message_of(item, default_role) for item in plain if isinstance(item, dict)]


def message_of(raw: JsonObject, default_role: str) -> Message:
    """A message in the shape of the conventions (`parts`), of OpenAI (`content`, `tool_calls`) or of Gemini."""
    inner = raw.get("message")
    if isinstance(inner, dict):  # OpenInference, and the choice event of older conventions
        raw = inner
    role = {"model": "assistant", "ai": "assistant", "human": "user"}.get(str(raw.get("role")), raw.get("role"))
    parts = raw.get("parts")
    if not isinstance(parts, list):
        content = raw.get("content", raw.get("contents"))
        parts = content if isinstance(content, list) else [{"type": "text", "content": content}]
    collected = _Parts()
    for part in parts:
        collected.add(part if isinstance(part, dict) else {"type": "text", "content": part})
    calls = raw.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        collected.call(call)
    return collected.message(str(role or default_role), raw)


_CALLS = ("function_call", "functionCall", "toolUse")


class _Parts:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.calls: list[ForeignCall] = []
        self.results: list[ForeignResult] = []

    def add(self, part: JsonObject) -> None:
        inner = part.get("message_content")
        part = inner if isinstance(inner, dict) else part
        match part.get("type"):
            case "tool_call" | "server_tool_call" | "tool_use" | "function_call":
                self.call(part)
            case "tool_call_response" | "server_tool_call_response" | "tool_result":
                self.results.append(_result_of_part(part))
            case "reasoning" | "thinking":
                self.thoughts.append(text_of(part.get("content", part.get("thinking", part.get("text")))) or "")
            case _ if any(isinstance(part.get(name), dict) for name in _CALLS):
                self.call(part)
            case _ if (result := _result_within(part)) is not None:
                self.results.append(_result_of_part(result))
            case _ if isinstance(inner := part.get("reasoningContent"), dict):
                self.thoughts.append(text_of(inner.get("reasoningText")) or "")
            case _:
                self.texts.append(text_of(part.get("content", part.get("text", _part_placeholder(part)))) or "")

    def call(self, raw: JsonValue) -> None:
        if not isinstance(raw, dict):
            return
        for name in ("tool_call", *_CALLS):
            inner = raw.get(name)
            raw = inner if isinstance(inner, dict) else raw
        function = raw.get("function")
        inner = function if isinstance(function, dict) else raw
        arguments = next((inner[name] for name in ("arguments", "args", "input") if inner.get(name) is not None), None)
        self.calls.append(
            ForeignCall(
                id=_text_or_none(raw.get("id", raw.get("toolUseId"))),
                name=_text_or_none(inner.get("name")) or "",
                arguments=arguments,
            )
        )

    def message(self, role: str, raw: JsonObject) -> Message:
        text = "\n".join(part for part in self.texts if part) or None
        if role in ("tool", "function") and not self.results:
            called = _text_or_none(raw.get("tool_call_id", raw.get("id")))
            content = raw.get("content", text)
            self.results.append(
                ForeignResult(call_id=called, name=_text_or_none(raw.get("name")), content=unwrapped(content))
            )
            text = None
        reasoning = raw.get("reasoning_content", raw.get("reasoning"))
        thought = "\n".join(part for part in [*self.thoughts, text_of(reasoning) or ""] if part) or None
        return Message(role=role, text=text, thought=thought, calls=tuple(self.calls), results=tuple(self.results))


def decoded(value: JsonValue) -> JsonValue:
    """A result that is written as JSON text, as it is meant. Exporters write a text as a JSON string or as it is, and
    both are that text; numbers and other plain texts stay as they are.
    """
    found = embedded_json(value) if isinstance(value, str) else value
    if isinstance(found, str) and found != value:
        inner = embedded_json(found)
        return inner if isinstance(inner, dict | list) else found
    return found if isinstance(found, dict | list) else value


def unflattened(attributes: Mapping[str, JsonValue], prefix: str) -> list[JsonObject]:
    """Attributes `prefix.<n>.<rest>` as a list of nested objects, in the order of n."""
    root: dict[str, JsonValue] = {}
    for name, value in attributes.items():
        if name.startswith(prefix + "."):
            _set_at_path(root, name[len(prefix) + 1 :].split("."), value)
    listed = _as_lists(root)
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _set_at_path(root: dict[str, JsonValue], path: list[str], value: JsonValue) -> None:
    at = root
    for step in path[:-1]:
        below = at.setdefault(step, {})
        if not isinstance(below, dict):
            return  # one attribute is a value and a prefix of another: the first to be there stays
        at = below
    at.setdefault(path[-1], value)


def _as_lists(value: JsonValue, depth: int = 0) -> JsonValue:
    if not isinstance(value, dict) or depth > 32:
        return value
    if value and all(name.isascii() and name.isdecimal() for name in value):
        return [_as_lists(value[name], depth + 1) for name in sorted(value, key=lambda digits: (len(digits), digits))]
    return {name: _as_lists(item, depth + 1) for name, item in value.items()}


_RESULT_IDS = ("tool_call_id", "tool_use_id", "toolUseId", "toolCallId")


def _result_within(value: JsonValue) -> JsonObject | None:
    """The tool's result that a part or a message of a framework wraps; None if it wraps none."""
    raw = value if isinstance(value, dict) else {}
    for name in ("toolResult", "function_response", "functionResponse"):
        if isinstance(found := raw.get(name), dict):
            return found
    if {"tool_name", "raw_input", "raw_output"} <= raw.keys():  # LlamaIndex
        return {"content": raw["raw_output"], "is_error": raw.get("is_error")}
    for one in (raw, raw.get("data"), raw.get("kwargs")):  # LangChain's messages have their fields below a name
        if isinstance(one, dict) and "content" in one and any(isinstance(one.get(name), str) for name in _RESULT_IDS):
            return one
    return None


def foreign_result(value: JsonValue) -> ForeignResult:
    """The result that a tool's message holds; any other value is the result itself."""
    raw = _result_within(value)
    return ForeignResult(call_id=None, content=unwrapped(value)) if raw is None else _result_of_part(raw)


def _result_of_part(raw: JsonObject) -> ForeignResult:
    # The conventions' schema says `response`, their own examples `result`.
    content = next((raw[name] for name in ("response", "result", "content") if raw.get(name) is not None), None)
    called = next((raw[name] for name in (*_RESULT_IDS, "id") if raw.get(name) is not None), None)
    failed = raw.get("is_error") is True or raw.get("status") == "error"
    return ForeignResult(
        call_id=_text_or_none(called),
        name=_text_or_none(raw.get("name")),
        content=unwrapped(content),
        error=ToolFailure(type="tool_error", message=str(content)[:500]) if failed else None,
    )


def unwrapped(raw: JsonValue) -> JsonValue:
    """A result as it is meant: JSON that is written as text is decoded, a list of nothing but texts is their text."""
    plain = decoded(raw)
    if not isinstance(plain, list) or not plain:
        return plain
    texts = [text for block in plain if (text := _text_of_block(block)) is not None]
    if len(texts) == len(plain):
        return decoded("\n".join(texts))
    only = plain[0] if len(plain) == 1 else None
    return only["json"] if isinstance(only, dict) and only.keys() == {"json"} else plain


def _text_of_block(block: JsonValue) -> str | None:
    if not isinstance(block, dict) or not block.keys() <= {"type", "text"} or block.get("type", "text") != "text":
        return None
    text = block.get("text")
    return text if isinstance(text, str) else None


def _part_placeholder(part: JsonObject) -> str | None:
    kind = part.get("type")
    return f"[{kind}]" if isinstance(kind, str) and kind != "text" else None


def _text_or_none(value: JsonValue) -> str | None:
    return None if value is None or value == "" else str(value)
