"""Secrets whose pieces are in texts that a client joins, and the events of a stream that hold these texts."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import JsonValue

from harness.cassettes.secret_search import MARK, SecretSearch, encoded


def pseudonym_of(name: str) -> bytes:
    """The replacement of a known secret."""
    return f"<secret:{name}>".encode()


# Finds secrets whose pieces are in texts that a client joins: the deltas of a streamed answer.
#
# Each text belongs to channels: its place in its event, exactly and without the numbers of lists. When texts are sent,
# each of their channels is searched: the end of what was sent before, these texts, and what waits behind them.

_MOST_CHANNELS: Final = 1024
_JOINED: Final = 32
"""Texts that are joined at once: deltas are many and short."""
_NUMBERS: Final = frozenset({"index", "output_index", "content_index", "contentBlockIndex", "item_id"})
"""Members that say which of several texts a delta continues."""

Place = tuple[str | int, ...]


class EventText:
    """One text of one event, or the bytes of one piece."""

    def __init__(self, text: str | bytes, places: tuple[Place, ...]) -> None:
        self.raw, self._errors = (text, "surrogateescape") if isinstance(text, bytes) else encoded(text)
        self.places = places
        self.is_sent = False
        self.is_changed = False

    @property
    def text(self) -> str:
        return self.raw.decode("utf-8", self._errors if not self.is_changed else "replace")

    def cut(self, start: int, end: int, replacement: bytes) -> None:
        self.raw = self.raw[:start] + replacement + self.raw[end:]
        self.is_changed = True


@dataclass
class _Channel:
    tail: bytes = b""
    """The end of what was sent, in which a secret may have begun."""
    waiting: list[EventText] = field(default_factory=list)


class SplitSearch:
    """The channels of one stream."""

    def __init__(self, search: SecretSearch) -> None:
        self._search = search
        self._channels: defaultdict[Place, _Channel] = defaultdict(_Channel)

    def take(self, part: EventText) -> None:
        """Adds a part to its channels, where it waits until it is sent."""
        for place in part.places:
            self._channels[place].waiting.append(part)

    def send(self, sent: Sequence[EventText]) -> None:
        """Removes the secrets that begin in these parts, which were taken before all others that wait, or that began
        in what was sent before.
        """
        for place, count in Counter(place for part in sent for place in part.places).items():
            self._send(self._channels[place], count)
        for part in sent:
            part.is_sent = True
        if len(self._channels) > _MOST_CHANNELS:
            idle = [place for place, channel in self._channels.items() if not channel.waiting]
            for place in idle[: len(self._channels) - _MOST_CHANNELS]:
                del self._channels[place]

    def _send(self, channel: _Channel, count: int) -> None:
        text, widest = channel.tail + b"".join(part.raw for part in channel.waiting[:count]), self._search.widest
        end, behind = len(text), bytearray()
        for at in range(count, len(channel.waiting), _JOINED):
            if len(behind) >= widest:
                break
            behind += b"".join([part.raw for part in channel.waiting[at : at + _JOINED]])
        matches, undecided = self._search.begun(text + behind[:widest], end)
        for found in reversed(matches):
            start = found.start - len(channel.tail)
            _replace(channel.waiting, start, found.end - len(channel.tail), pseudonym_of(found.name))
        channel.tail = text[undecided:]
        del channel.waiting[:count]


def holds_none(search: SecretSearch, parts: Iterable[EventText]) -> bool:
    """Whether certainly no channel of these texts, which are all that there are, holds a secret: one search of all
    channels. False also if only a `SplitSearch` can tell.
    """
    channels: defaultdict[Place, list[bytes]] = defaultdict(list)
    for part in parts:
        for place in part.places:
            channels[place].append(part.raw)
    if search.separator is None:
        return False
    joined = search.separator.join(map(b"".join, channels.values()))
    # What a pseudonym contains is skipped, and two searches may find its beginning at different places.
    return MARK not in joined and search.next(joined) is None


def _replace(parts: list[EventText], start: int, end: int, pseudonym: bytes) -> None:
    """Replaces the bytes from `start` to `end` of the joined parts, as far as they are not sent."""
    at = 0
    for part in parts:
        length = len(part.raw)
        first, last = max(start - at, 0), min(end - at, length)
        if first < last and not part.is_sent:
            part.cut(first, last, pseudonym)
            pseudonym = b""
        at += length


def parts_of(value: JsonValue) -> list[EventText]:
    """Every text of a value, in order."""
    found: list[EventText] = []
    waiting: list[tuple[JsonValue, Place, Place]] = [(value, (), ())]
    while waiting:
        one, exact, loose = waiting.pop()
        match one:
            case str():
                found.append(EventText(one, (exact,) if exact == loose else (exact, ("", *loose))))
            case dict():
                numbers = tuple(str(item) for name, item in one.items() if name in _NUMBERS)
                for name, item in reversed(one.items()):
                    waiting.append((item, (*exact, *numbers, name), (*loose, name)))
            case list():
                for at, item in reversed(list(enumerate(one))):
                    waiting.append((item, (*exact, at), loose))
            case _:
                pass
    return found


def with_parts(value: JsonValue, parts: Iterator[EventText]) -> JsonValue:
    """The value with the texts of `parts`, in the order of `parts_of`."""
    match value:
        case str():
            return next(parts).text
        case dict():
            return {name: with_parts(item, parts) for name, item in value.items()}
        case list():
            return [with_parts(item, parts) for item in value]
        case _:
            return value


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
    """One event: its bytes, the texts in it, and how it is written if they changed."""

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
    return _event_around(raw, raw[:at], body, raw[at + len(body) :])


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
            raw,
            parts_of(value),
            lambda parts: _event_with_data(raw, lines, [_compact_json_bytes(with_parts(value, iter(parts)))]),
        )
    parts = [EventText(line[2].decode("utf-8", "surrogateescape"), (("data",),)) for line in lines]
    return StreamEvent(raw, parts, lambda changed: _event_with_data(raw, lines, [part.raw for part in changed]))


def _event_with_data(raw: bytes, lines: list[re.Match[bytes]], data: list[bytes]) -> bytes:
    """The event with other data; lines without any are left out."""
    pieces, at = list[bytes](), 0
    for number, line in enumerate(lines):
        pieces.append(raw[at : line.start(2)] if number < len(data) else raw[at : line.start()])
        at = line.end() if number < len(data) else _after_line(raw, line.end())
        pieces += data[number : number + 1]
    return b"".join([*pieces, raw[at:]])


def _after_line(raw: bytes, at: int) -> int:
    return at + 2 if raw.startswith(b"\r\n", at) else min(at + 1, len(raw))


def _event_around(raw: bytes, before: bytes, body: bytes, after: bytes) -> StreamEvent:
    value = _parsed(body)
    if not isinstance(value, dict | list | str):
        text = [EventText(body.decode("utf-8", "surrogateescape"), (("line",),))]
        return StreamEvent(raw, text, lambda parts: before + parts[0].raw + after)
    return StreamEvent(
        raw, parts_of(value), lambda parts: before + _compact_json_bytes(with_parts(value, iter(parts))) + after
    )


def _parsed(body: bytes) -> JsonValue:
    """The JSON value; None if it is none, or nested too deeply to be looked into."""
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


def _compact_json_bytes(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


_LARGEST_BODY: Final = 64 * 1024
"""The bytes of a whole body up to which its texts are joined."""
_SSE: Final = (b"data:", b"event:", b"id:", b"retry:", b":")


def without_split(search: SecretSearch, body: bytes) -> bytes:
    """A whole body without secrets that its texts make together; the same object if there are none."""
    if len(body) > _LARGEST_BODY:
        return body
    events = _events_of(body)
    if holds_none(search, (part for event in events for part in event.parts)):
        return body
    split, parts = SplitSearch(search), [part for event in events for part in event.parts]
    for part in parts:
        split.take(part)
    split.send(parts)
    if not any(part.is_changed for part in parts):
        return body
    return b"".join(event.encoded for event in events)


def _events_of(body: bytes) -> list[StreamEvent]:
    start = body.lstrip()
    if start.startswith(_SSE):
        return _divided(body, "sse")
    if start.startswith((b"{", b"[")) and not _is_document(body):
        return _divided(body, "lines")
    return [_event_around(body, b"", body, b"")]


def _is_document(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _divided(body: bytes, framing: Framing) -> list[StreamEvent]:
    events, rest = list[StreamEvent](), body
    while (end := next_end(rest, framing, 0)) is not None:
        events.append(event_of(rest[:end], framing))
        rest = rest[end:]
    return [*events, event_of(rest, framing)] if rest else events
