"""Events on their way to a client, and whole bodies, without secrets that several texts make together."""

import json
from collections import deque
from typing import Final

from harness.cassette.redaction.event_frames import Framing, StreamEvent, event_of, next_end, payload_event
from harness.cassette.redaction.secret_search import SecretSearch
from harness.cassette.redaction.split_secrets import SplitSearch, holds_none

_LARGEST_BODY: Final = 64 * 1024
"""The bytes of a whole body up to which its texts are joined."""
_SSE: Final = (b"data:", b"event:", b"id:", b"retry:", b":")


class EventQueue:
    """Events in order; those in which a secret may have begun wait for the next, and all others behind them."""

    def __init__(self, search: SecretSearch | None) -> None:
        self._search = None if search is None else SplitSearch(search)
        self._waiting: deque[StreamEvent] = deque()

    @property
    def waits(self) -> bool:
        """Whether an event waits."""
        return bool(self._waiting)

    def put(self, event: StreamEvent) -> list[StreamEvent]:
        """The events that may be passed on now."""
        self._waiting.append(event)
        if self._search is None:
            return self.release()
        for part in event.parts:
            self._search.take(part)
        held = set(map(id, self._search.waiting()))
        passed: list[StreamEvent] = []
        while self._waiting and held.isdisjoint(map(id, self._waiting[0].parts)):
            passed.append(_sent(self._waiting.popleft()))
        return passed

    def release(self) -> list[StreamEvent]:
        """All events that wait."""
        passed = [_sent(event) for event in self._waiting]
        self._waiting.clear()
        return passed


def without_split(search: SecretSearch, body: bytes) -> bytes:
    """A whole body without secrets that its texts make together; the same object where there are none."""
    if len(body) > _LARGEST_BODY:
        return body
    events = _events_of(body)
    if holds_none(search, (part for event in events for part in event.parts)):
        return body
    queue, passed = EventQueue(search), list[StreamEvent]()
    for event in events:
        passed += queue.put(event)
    passed += queue.release()
    if not any(part.is_changed for event in passed for part in event.parts):
        return body
    return b"".join(event.encoded for event in passed)


def _events_of(body: bytes) -> list[StreamEvent]:
    start = body.lstrip()
    if start.startswith(_SSE):
        return _divided(body, "sse")
    if start.startswith((b"{", b"[")) and not _is_document(body):
        return _divided(body, "lines")
    return [payload_event(body)]


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


def _sent(event: StreamEvent) -> StreamEvent:
    for part in event.parts:
        part.is_sent = True
    return event
