"""How many messages a request in protobuf holds, counted before it is parsed: one of two bytes takes up to 170 then."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

MAX_MESSAGES: Final = 1_000_000
"""Records, attributes, values, events and links of one request together."""

_PAIR: Final = "KeyValue"
_ANY: Final = "AnyValue"
_RESOURCE: Final = {1: _PAIR, 3: "EntityRef"}
_SCOPE: Final = {3: _PAIR}
_MESSAGES: Final[Mapping[str, Mapping[int, str]]] = {
    "traces": {1: "ResourceSpans"},
    "ResourceSpans": {1: "Resource", 2: "ScopeSpans"},
    "ScopeSpans": {1: "Scope", 2: "Span"},
    "Span": {9: _PAIR, 11: "Event", 13: "Link", 15: "Status"},
    "Event": {3: _PAIR},
    "Link": {4: _PAIR},
    "logs": {1: "ResourceLogs"},
    "ResourceLogs": {1: "Resource", 2: "ScopeLogs"},
    "ScopeLogs": {1: "Scope", 2: "LogRecord"},
    "LogRecord": {5: _ANY, 6: _PAIR},
    "Resource": _RESOURCE,
    "Scope": _SCOPE,
    _PAIR: {2: _ANY},
    _ANY: {5: "ArrayValue", 6: "KeyValueList"},
    "ArrayValue": {1: _ANY},
    "KeyValueList": {1: _PAIR},
}
"""The fields of each message that hold messages; a message that is not listed holds none."""
_RECORDS: Final = frozenset({"ResourceSpans", "ScopeSpans", "Span", "ResourceLogs", "ScopeLogs", "LogRecord"})
"""Records, and the groups that hold them."""
_NONE: Final[Mapping[int, str]] = {}


def too_many(
    signal: Literal["traces", "logs"], body: bytes, most_records: int
) -> Literal["records", "messages"] | None:
    """What there are too many of: records, or messages in all. What is malformed is left to the parser.

    Fields that are not messages count as messages, because each takes time.
    """
    left, records = MAX_MESSAGES, 0
    waiting: list[tuple[str, int, int]] = [(signal, 0, len(body))]
    while waiting:
        kind, start, end = waiting.pop()
        inner = _MESSAGES.get(kind, _NONE)
        for number, begins, ends in _fields(body, start, end):
            left -= 1
            found = inner.get(number)
            records += found in _RECORDS
            if records > most_records:
                return "records"
            if left < 0:
                return "messages"
            if found is not None and begins < ends:
                waiting.append((found, begins, ends))
    return None


def _fields(body: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The number of each field, and where its content begins and ends; a field without a length is empty."""
    while start < end:
        tag, start = _varint(body, start, end)
        match tag & 7:
            case 0:
                _, start = _varint(body, start, end)
                yield 0, start, start
            case 1:
                start += 8
                yield 0, start, start
            case 2:
                length, start = _varint(body, start, end)
                yield tag >> 3, start, min(end, start + length)
                start += length
            case 5:
                start += 4
                yield 0, start, start
            case _:
                return


def _varint(body: bytes, start: int, end: int) -> tuple[int, int]:
    """The number and where it ends; past the end for a number that is cut off or longer than 64 bits."""
    if start < end and body[start] < 0x80:
        return body[start], start + 1
    value = 0
    for shift, place in enumerate(range(start, min(end, start + 10))):
        value |= (body[place] & 0x7F) << 7 * shift
        if body[place] < 0x80:
            return value, place + 1
    return 0, end
