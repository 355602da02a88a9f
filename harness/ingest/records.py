"""Records of a file of conversations: one of them, a list of them, or JSON lines."""

from collections.abc import Iterator

from harness.frozen import JsonValue
from harness.ingest.found import Source
from harness.ingest.reading import Record, kind_of, read_lines

_LINES = (".jsonl", ".ndjson")


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
    if source.path.suffix in _LINES:
        for number, value in read_lines(source.path):
            yield f"line {number}", Record(path=source.path, data={}, line=number), value
        return
    document = source.document()
    if isinstance(document, list) and not _is_conversation(document):
        for index, value in enumerate(document):
            yield f"record {index}", Record(path=source.path, data={}, at=str(index)), value
    else:
        yield "record 0", Record(path=source.path, data={}), document


def _is_conversation(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "role" in value[0]


def _opened(record: Record) -> Record:
    request = record.record("request", "body")
    if record.value("messages") is None and request is not None:
        around = {name: item for name, item in record.data.items() if name not in ("request", "body")}
        record = Record(path=record.path, data={**request.data, **around}, at=record.at, line=record.line)
    if not isinstance(record.value("messages"), list):
        raise record.refusal("messages", f"is {kind_of(record.value('messages'))}, not a list of messages")
    return record
