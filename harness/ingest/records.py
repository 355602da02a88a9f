"""Records of a file of conversations: one of them, a list of them, or JSON lines."""

from collections.abc import Iterator
from pathlib import Path

from harness.errors import InvalidDocument
from harness.ingest.found import Source
from harness.ingest.reading import MAX_LINE_BYTES, Record, embedded_json, kind_of, read_lines
from harness.values import JsonValue

_LINES = (".jsonl", ".ndjson")
MESSAGE_KEYS = (
    "messages",
    "input",
    "history",
    "traj",
    "conversation",
    "conversations",
    "dialog",
    "trajectory",
    "turns",
)
"""Where a record's messages stand, the most usual first."""


def conversations_of(source: Source) -> Iterator[tuple[str, Record]]:
    """(name, record with `messages`). A bare list of messages is one; a request around it is opened."""
    for name, place, value in _values(source):
        if _is_conversation(value):
            yield name, Record(path=place.path, data={"messages": value}, at=place.at, line=place.line)
        elif isinstance(value, dict):
            yield name, _opened(Record(path=place.path, data=value, at=place.at, line=place.line))
        else:
            raise place.refusal("", f"is {kind_of(value)}, not a conversation", "give objects with `messages`")


def _values(source: Source) -> Iterator[tuple[str, Record, JsonValue]]:
    if source.path.suffix in _LINES or _holds_lines(source.path):
        for number, value in read_lines(source.path):
            yield f"line {number}", Record(path=source.path, data={}, line=number), value
        return
    document = source.document()
    if isinstance(document, list) and not _is_conversation(document):
        for index, value in enumerate(document):
            yield f"record {index}", Record(path=source.path, data={}, at=str(index)), value
    else:
        yield "record 0", Record(path=source.path, data={}), document


def _holds_lines(path: Path) -> bool:
    """Whether a file holds one object a line, whatever it is called."""
    try:
        with path.open("rb") as stream:
            first = stream.readline(MAX_LINE_BYTES)
            return bool(stream.readline().strip()) and isinstance(embedded_json(first.decode()), dict)
    except (OSError, UnicodeDecodeError):
        return False  # reading it says what is wrong


def _is_conversation(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and ("role" in value[0])


def _opened(record: Record) -> Record:
    request = record.record("request", "body")
    if record.value(*MESSAGE_KEYS) is None and request is not None:
        around = {name: item for name, item in record.data.items() if name not in ("request", "body")}
        record = Record(path=record.path, data={**request.data, **around}, at=record.at, line=record.line)
    key = next((key for key in MESSAGE_KEYS if _holds_messages(record.data.get(key))), None)
    if key is None:
        raise _no_messages(record)
    if key == "messages":
        return record
    return Record(path=record.path, data={**record.data, "messages": record.data[key]}, at=record.at, line=record.line)


def _holds_messages(value: JsonValue) -> bool:
    return isinstance(value, list) and all(_is_message(item) for item in value[:1])


def _is_message(value: JsonValue) -> bool:
    return isinstance(value, dict) and any(name in value for name in ("role", "from", "action"))


def _no_messages(record: Record) -> InvalidDocument:
    """Names what stands where messages were expected, and the key that seems to hold them."""
    told = record.data.get("messages")
    if told is not None:
        what = f"is {kind_of(told)}, not a list of messages" if not isinstance(told, list) else "holds no messages"
        return record.refusal("messages", what)
    deeper = [
        f"{key}.{name}"
        for key, value in record.data.items()
        for name, item in (value.items() if isinstance(value, dict) else [("", value)])
        if isinstance(item, list) and item and isinstance(item[0], dict) and ("role" in item[0] or "content" in item[0])
    ]
    looked = ", ".join(f"`{key}`" for key in MESSAGE_KEYS)
    remedy = f"give the messages (objects with `role` and `content`) under `messages`; looked for {looked}"
    if deeper:
        remedy = f"`{deeper[0].rstrip('.')}` seems to hold them; {remedy}"
    return record.refusal("messages", "is nothing, not a list of messages", remedy)
