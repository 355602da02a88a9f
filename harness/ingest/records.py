"""Records of a file of conversations: one of them, a list of them, or JSON lines."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Final

from harness.errors import InvalidDocument
from harness.ingest.found import Source
from harness.ingest.react_text import asked_in, turns_of
from harness.ingest.reading import LINES, MAX_LINE_BYTES, Record, embedded_json, kind_of, read_lines
from harness.ingest.shapes.frameworks import framework_messages
from harness.ingest.shapes.messages import has_parts
from harness.ingest.shapes.runs import run_messages
from harness.values import JsonObject, JsonValue

MESSAGE_KEYS = (
    "messages",
    "input",
    "history",
    "traj",
    "conversation",
    "conversations",
    "dialog",
    "dialogue",
    "trajectory",
    "turns",
    "steps",
    "chat_history",
    "transcript",
    "log",
    "logs",
    "trace",
    "contents",
    "events",
)
"""Where a record's messages stand, the most usual first."""
_SPEAKERS = ("speaker", "sender", "author", "agent", "agent_name")
"""Where logs without roles say who speaks."""
_SAID = ("content", "message", "text", "utterance")
_TYPES: Final = ("human", "ai", "system", "tool")
"""LangChain's kinds of messages, which stand in place of roles."""


def conversations_of(source: Source) -> Iterator[tuple[str, Record]]:
    """(name, record with `messages`). A bare list of messages is one; a request around it is opened."""
    for name, place, value in _values(source):
        if _is_conversation(value):
            messages = _messages_in(value)
            yield name, Record(path=place.path, data={"messages": messages}, at=place.at, line=place.line)
        elif isinstance(value, dict):
            yield name, _opened(Record(path=place.path, data=value, at=place.at, line=place.line))
        else:
            raise place.refusal("", f"is {kind_of(value)}, not a conversation", "give objects with `messages`")


def _values(source: Source) -> Iterator[tuple[str, Record, JsonValue]]:
    if source.path.suffix in LINES or _holds_lines(source.path):
        yield from _of_lines(source.path)
        return
    document = source.document()
    if isinstance(document, list) and not _is_conversation(document):
        for index, value in enumerate(document):
            yield f"record {index}", Record(path=source.path, data={}, at=str(index)), value
    elif isinstance(document, dict) and not _is_run(document):
        yield from _wrapped(source.path, document)
    else:
        yield "record 0", Record(path=source.path, data={}), document


def _wrapped(path: Path, document: JsonObject) -> Iterator[tuple[str, Record, JsonValue]]:
    """Records that one list of an object holds, or each of its fields; else the object itself."""
    lists = [key for key, value in document.items() if isinstance(value, list) and value and _is_run(value[0])]
    if len(lists) == 1:
        for index, value in enumerate(_list(document[lists[0]])):
            yield f"{lists[0]} {index}", Record(path=path, data={}, at=f"{lists[0]}.{index}"), value
    elif len(document) > 1 and all(map(_is_run, document.values())):
        for key, value in document.items():
            named: JsonObject = {"id": key, **value} if isinstance(value, dict) else {}
            yield f"record {key}", Record(path=path, data={}, at=key), named
    else:
        yield "record 0", Record(path=path, data={}), document


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _is_run(value: JsonValue) -> bool:
    """Whether an object holds messages, or a request that holds them."""
    if not isinstance(value, dict):
        return False
    request = value.get("request", value.get("body"))
    return _has_messages(value) or run_messages(value) is not None or _has_messages(request)


def _of_lines(path: Path) -> Iterator[tuple[str, Record, JsonValue]]:
    """Each line is a record; lines that are messages are one conversation together."""
    lines = read_lines(path)
    first = next(lines, None)
    if first is None:
        return
    if _is_message(first[1]) and not _has_messages(first[1]):
        messages: list[JsonValue] = [value for _, value in chain((first,), lines)]
        yield "record 0", Record(path=path, data={}), messages
        return
    for number, value in chain((first,), lines):
        yield f"line {number}", Record(path=path, data={}, line=number), value


def _holds_lines(path: Path) -> bool:
    """Whether a file holds one object a line, whatever it is called."""
    try:
        with path.open("rb") as stream:
            first = stream.readline(MAX_LINE_BYTES)
            return bool(stream.readline(MAX_LINE_BYTES).strip()) and isinstance(embedded_json(first.decode()), dict)
    except (OSError, UnicodeDecodeError):
        return False  # reading it says what is wrong


def _is_conversation(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and _is_message(value[0]) and not _has_messages(value[0])


def _has_messages(value: JsonValue) -> bool:
    return isinstance(value, dict) and any(_messages_in(value.get(key)) is not None for key in MESSAGE_KEYS)


def _opened(record: Record) -> Record:
    request = record.record("request", "body")
    if not _has_messages(record.data) and request is not None:
        around = {name: item for name, item in record.data.items() if name not in ("request", "body")}
        record = Record(path=record.path, data={**request.data, **around}, at=record.at, line=record.line)
    data = _with_messages(record.data) or _deeper(record.data)
    if data is None:
        raise _no_messages(record)
    return Record(path=record.path, data=data, at=record.at, line=record.line)


def _with_messages(record: JsonObject) -> JsonObject | None:
    """The record with what it holds under `messages`."""
    messages = _messages_in(run_messages(record))
    if messages is not None:
        return {**record, "messages": messages}
    for key in MESSAGE_KEYS:
        raw = record.get(key)
        messages = _messages_in(raw)
        if messages is not None:
            asked: JsonObject = {"question": asked_in(raw)} if isinstance(raw, str) else {}
            return {**asked, **record, "messages": messages}
    return None


def _deeper(record: JsonObject) -> JsonObject | None:
    """The record with the messages of the only one of its objects that holds a run: an agent speaks in it."""
    found = [opened for value in record.values() if isinstance(value, dict) and (opened := _with_messages(value))]
    runs = [one for one in found if any(map(_is_of_agent, _list(one["messages"])))]
    return {**record, **runs[0]} if len(runs) == 1 else None


def _is_of_agent(message: JsonValue) -> bool:
    role = message.get("role", message.get("from", "agent")) if isinstance(message, dict) else "user"
    return isinstance(role, str) and role.casefold() not in ("user", "human", "system", "developer")


def _messages_in(value: JsonValue) -> list[JsonValue] | None:
    """The messages or turns that a value holds; None: it holds none."""
    if isinstance(value, str):
        return [*turns_of(value)] or None
    if not isinstance(value, list) or not all(_is_message(item) for item in value[:1]):
        return None
    return [each for item in value for each in (_with_roles(item) if isinstance(item, dict) else [item])]


def _is_message(value: JsonValue) -> bool:
    if not isinstance(value, dict):
        return False
    if framework_messages(value) is not None or has_parts(value):
        return True
    if any(name in value for name in ("role", "from", "action")) or _speaker_in(value) is not None:
        return True
    return value.get("type") in _ITEMS or (value.get("type") in _TYPES and "content" in value)


def _with_roles(item: JsonObject) -> list[JsonObject]:
    """A message or event of a framework as the messages with roles that say the same."""
    found = framework_messages(item)
    return [_with_role(item)] if found is None else found


def _with_role(message: JsonObject) -> JsonObject:
    """A message of a log that has speakers or types in place of roles as one with a role."""
    if any(name in message for name in ("role", "from", "action")):
        return message
    if message.get("type") in _TYPES and "content" in message:
        return {**message, "role": message["type"]}
    item = _ITEMS.get(str(message.get("type")))
    if item is not None:
        return item(message)
    speaker = _speaker_in(message)
    return message if speaker is None else {**message, "role": message[speaker[0]], "content": message[speaker[1]]}


def _call_item(item: JsonObject) -> JsonObject:
    function: JsonObject = {"name": item.get("name"), "arguments": item.get("arguments")}
    call_id = item.get("call_id") or item.get("id")
    return {"role": "assistant", "tool_calls": [{"id": call_id, "function": function}]}


def _output_item(item: JsonObject) -> JsonObject:
    return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}


def _reasoning_item(item: JsonObject) -> JsonObject:
    summary = item.get("summary")
    parts = [part.get("text") for part in summary if isinstance(part, dict)] if isinstance(summary, list) else []
    return {"role": "assistant", "reasoning": "\n".join(part for part in parts if isinstance(part, str)) or None}


_ITEMS: Final[Mapping[str, Callable[[JsonObject], JsonObject]]] = MappingProxyType(
    {"function_call": _call_item, "function_call_output": _output_item, "reasoning": _reasoning_item}
)
"""Items of OpenAI's Responses API that have no role, as the chat messages that say the same."""


def _speaker_in(message: JsonObject) -> tuple[str, str] | None:
    """The fields with the speaker's name and with the words."""
    who = next((name for name in _SPEAKERS if isinstance(message.get(name), str) and message[name]), None)
    said = next((name for name in _SAID if isinstance(message.get(name), str)), None)
    return None if who is None or said is None else (who, said)


def _no_messages(record: Record) -> InvalidDocument:
    """Names what stands where messages were expected, and the key that seems to hold them."""
    messages = record.data.get("messages")
    if messages is not None:
        what = (
            f"is {kind_of(messages)}, not a list of messages" if not isinstance(messages, list) else "holds no messages"
        )
        return record.refusal("messages", what)
    deeper = [
        f"{key}.{name}"
        for key, value in record.data.items()
        for name, item in (value.items() if isinstance(value, dict) else [("", value)])
        if isinstance(item, list) and item and isinstance(item[0], dict) and ("role" in item[0] or "content" in item[0])
    ]
    expected = ", ".join(f"`{key}`" for key in MESSAGE_KEYS)
    remedy = f"give the messages (objects with `role` and `content`) under `messages`; searched for {expected}"
    if deeper:
        remedy = f"`{deeper[0].rstrip('.')}` seems to hold them; {remedy}"
    return record.refusal("messages", "is nothing, not a list of messages", remedy)
