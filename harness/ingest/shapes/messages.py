"""Messages whose parts hold calls and results, as chat messages: replies with `tool_calls`, and results of tools."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.ingest.shapes.pieces import MessagePart, pieces_of
from harness.values import JsonObject, JsonValue


def has_parts(message: JsonObject) -> bool:
    """Whether a message has parts in place of its content (Gemini, Pydantic AI) or beside it (Vercel AI SDK)."""
    parts = message.get("parts")
    return (
        isinstance(parts, list)
        and bool(parts)
        and ("role" in message or message.get("kind") in ("request", "response"))
    )


def chat_messages(message: JsonObject) -> list[JsonObject]:
    """The message itself where its parts are texts alone, else what it says as chat messages, in the order of parts."""
    parts = message.get("parts") if has_parts(message) else message.get("content")
    if not isinstance(parts, list):
        return [message]
    pieces = [piece for part in parts for piece in pieces_of(part)]
    if not has_parts(message) and not any(piece.kind in ("call", "result", "thought") for piece in pieces):
        return [message]
    around = {name: value for name, value in message.items() if name not in ("parts", "content", "kind")}
    role = message.get("role") or ("assistant" if message.get("kind") == "response" else "user")
    return list(_grouped(pieces, {**around, "role": role}))


@dataclass
class _Said:
    """Texts, thoughts and calls that stand together."""

    texts: list[JsonValue] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[JsonValue] = field(default_factory=list)

    def message(self, around: JsonObject, role: str | None) -> JsonObject:
        found: JsonObject = {**around, "content": _content(self.texts)}
        if role is not None:
            found["role"] = role
        if self.calls:
            found |= {"role": "assistant", "tool_calls": self.calls}
        if self.thoughts:
            found["reasoning"] = "\n".join(self.thoughts)
        return found


def _grouped(pieces: list[MessagePart], around: JsonObject) -> Iterator[JsonObject]:
    said, role = _Said(), None
    for piece in pieces:
        if piece.kind == "result" or (piece.role != role and piece.kind == "text"):
            if said.texts or said.thoughts or said.calls:
                yield said.message(around, role)
                said, around = _Said(), {"role": around["role"]}
            role = piece.role
        match piece.kind:
            case "result":
                yield _result(piece)
            case "call":
                said.calls.append({"id": piece.id, "function": {"name": piece.name, "arguments": piece.arguments}})
            case "thought":
                said.thoughts.append(piece.content if isinstance(piece.content, str) else "[reasoning]")
            case _:
                said.texts.append(piece.content)
    if said.texts or said.thoughts or said.calls:
        yield said.message(around, role)


def _result(piece: MessagePart) -> JsonObject:
    found: JsonObject = {"role": "tool", "tool_call_id": piece.id, "name": piece.name, "content": piece.content}
    return found if piece.failed is None else {**found, "is_error": piece.failed}


def _content(texts: list[JsonValue]) -> JsonValue:
    if all(isinstance(text, str) for text in texts):
        return "\n".join(text for text in texts if isinstance(text, str)) or None
    return [{"type": "text", "text": text} if isinstance(text, str) else text for text in texts]
