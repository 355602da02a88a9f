"""The events in the bytes of a stream: server-sent events, lines of JSON, the items of a streamed JSON array."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Final, Literal

from harness.cassette.redaction.split_secrets import EventText, parts_of, with_parts
from harness.values import JsonValue

Framing = Literal["sse", "lines", "array"]
_LINE_TYPES: Final = frozenset(
    {
        "application/x-ndjson",
        "application/ndjson",
        "application/jsonl",
        "application/x-jsonlines",
        "application/json-seq",
    }
)
_END: Final = {"sse": re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n"), "lines": re.compile(rb"\n")}
_DATA: Final = re.compile(rb"(?m)^(\xef\xbb\xbf)?data:[ ]?([^\r\n]*)")
_DEEPEST: Final = 200
_INSIDE: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]', re.DOTALL)


def framing_of(content_type: str) -> Framing | None:
    """How a stream of this type is divided; None: it has no events."""
    kind = content_type.partition(";")[0].strip().lower()
    return "sse" if kind == "text/event-stream" else "lines" if kind in _LINE_TYPES else None


class StreamEvent:
    """One event: its bytes, the texts in it, and how it is written where they changed."""

    def __init__(self, raw: bytes, parts: list[EventText], write: Callable[[list[EventText]], bytes]) -> None:
        self._raw = raw
        self.parts = parts
        self._write = write

    @property
    def encoded(self) -> bytes:
        return self._write(self.parts) if any(part.is_changed for part in self.parts) else self._raw


def event_of(raw: bytes, framing: Framing) -> StreamEvent:
    """An event of its bytes with what ends it."""
    if framing == "sse":
        return _sse(raw)
    body = raw.strip(b" \t\r\n,[]\x1e") if framing == "array" else raw.strip(b" \t\r\n\x1e")
    at = raw.find(body)
    return _around(raw, raw[:at], body, raw[at + len(body) :])


def payload_event(payload: bytes) -> StreamEvent:
    """An event whose bytes are one JSON document."""
    return _around(payload, b"", payload, b"")


def next_end(buffer: bytes, framing: Framing, searched: int) -> int | None:
    """Where the first event ends; None: it is incomplete, as it was when it had the length `searched`."""
    if framing != "array":
        found = _END[framing].search(buffer, max(0, searched - 3))
        return None if found is None else found.end()
    depth = 0
    for token in _INSIDE.finditer(buffer, len(buffer) - len(buffer.lstrip(b" \t\r\n,["))):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0)
        if depth <= 0 and token[0] in {b"}", b"]"}:
            return token.end()
    return None


def _sse(raw: bytes) -> StreamEvent:
    lines = list(_DATA.finditer(raw))
    value = _parsed(b"\n".join(line[2] for line in lines))
    if isinstance(value, dict | list | str):
        return StreamEvent(
            raw, parts_of(value), lambda parts: _joined(raw, lines, [_dumped(with_parts(value, iter(parts)))])
        )
    parts = [EventText(line[2].decode("utf-8", "surrogateescape"), (("data",),)) for line in lines]
    return StreamEvent(raw, parts, lambda changed: _joined(raw, lines, [part.raw for part in changed]))


def _joined(raw: bytes, lines: list[re.Match[bytes]], data: list[bytes]) -> bytes:
    """The event with other data; lines without any are left out."""
    pieces, at = list[bytes](), 0
    for number, line in enumerate(lines):
        pieces.append(raw[at : line.start(2)] if number < len(data) else raw[at : line.start()])
        at = line.end() if number < len(data) else _after_line(raw, line.end())
        pieces += data[number : number + 1]
    return b"".join([*pieces, raw[at:]])


def _after_line(raw: bytes, at: int) -> int:
    return at + 2 if raw.startswith(b"\r\n", at) else min(at + 1, len(raw))


def _around(raw: bytes, before: bytes, body: bytes, after: bytes) -> StreamEvent:
    value = _parsed(body)
    if not isinstance(value, dict | list | str):
        text = [EventText(body.decode("utf-8", "surrogateescape"), (("line",),))]
        return StreamEvent(raw, text, lambda parts: before + parts[0].raw + after)
    return StreamEvent(raw, parts_of(value), lambda parts: before + _dumped(with_parts(value, iter(parts))) + after)


def _parsed(body: bytes) -> JsonValue:
    """The JSON value; None where it is none, or nested too deeply to be looked into."""
    try:
        value: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if _is_shallow(body) else None


def _is_shallow(body: bytes) -> bool:
    return max(body.count(b"{"), body.count(b"[")) < _DEEPEST or max(_depths(body), default=0) < _DEEPEST


def _depths(body: bytes) -> Iterator[int]:
    depth = 0
    for token in _INSIDE.finditer(body):
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(token[0], 0)
        yield depth


def _dumped(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
