"""Removes known secrets from a stream, also if several pieces or the texts of several events make one together.

A client joins the deltas of a streamed answer, so that a key is nowhere in the bytes and whole in the result.
"""

from collections import deque
from collections.abc import Mapping
from typing import Final

from harness.cassettes.redaction import Redactor
from harness.cassettes.split_secrets import (
    EventText,
    Framing,
    SplitSearch,
    StreamEvent,
    event_of,
    framing_of,
    next_end,
)

WINDOW_S: Final = 2.0
"""How long every piece waits for the next ones, with which it may make a secret together."""
_LARGEST_EVENT: Final = 1024 * 1024
"""Bytes without an end after which a stream is passed on as it comes, and no longer by events."""


class RedactedStream:
    """One stream, in the pieces in which it came, or in its events.

    Each piece is passed on when the window is over, or the stream: never because of what is in it. If a stream were
    held only where a secret may begin, its pace would tell an agent whether its own text begins like one. Only a whole
    secret changes what is passed on: its pseudonym has another length, and a piece of which nothing is left is none.
    """

    def __init__(self, redactor: Redactor, framing: Framing | None = None, *, in_pieces: bool = True) -> None:
        """`in_pieces`: False if everything is to be passed on at the end, as one piece."""
        self._search = None if redactor.search is None else SplitSearch(redactor.search)
        self._known = redactor.known
        self._framing: Framing | None = None if self._search is None else framing
        self._window_s = 0.0 if self._search is None else WINDOW_S
        self._in_pieces = in_pieces or self._search is None
        self._waiting: deque[tuple[float, list[StreamEvent]]] = deque()
        self._held = b""
        self._searched = 0

    @property
    def due(self) -> float | None:
        """When the first piece that waits is to be passed on; None: no piece waits for a time."""
        return self._waiting[0][0] if self._waiting and self._in_pieces else None

    def feed(self, piece: bytes, now: float) -> None:
        """Takes what came at the time `now`."""
        events = [_event(piece)] if self._framing is None else self._divided(piece, self._framing)
        self._take(events, now + self._window_s)

    def release(self, now: float) -> list[bytes]:
        """The pieces whose time has come by `now`, in order."""
        due: list[list[StreamEvent]] = []
        while self.due is not None and self.due <= now:
            due.append(self._waiting.popleft()[1])
        return self._passed(due)

    def finish(self, *, broken: bool = False) -> list[bytes]:
        """All that waits, at the end of the stream.

        If the stream is `broken` off, only whole events of it: any other piece may end in the middle of a secret.
        """
        if broken and self._search is not None:
            self._held = b""
            if self._framing is None:
                self._waiting.clear()
        if self._held:
            self._take([event_of(self._known(self._held), self._framing or "lines")], 0)
            self._held = b""
        passed = self._passed([events for _, events in self._waiting])
        self._waiting.clear()
        return passed if self._in_pieces or not passed else [b"".join(passed)]

    def _take(self, events: list[StreamEvent], due: float) -> None:
        if self._search is not None:
            for part in (part for event in events for part in event.parts):
                self._search.take(part)
        if events:
            self._waiting.append((due, events))

    def _passed(self, pieces: list[list[StreamEvent]]) -> list[bytes]:
        if self._search is not None:
            self._search.send([part for events in pieces for event in events for part in event.parts])
        passed = (b"".join(event.encoded for event in events) for events in pieces)
        return [piece for piece in passed if piece]

    def _divided(self, piece: bytes, framing: Framing) -> list[StreamEvent]:
        self._held += piece
        events: list[StreamEvent] = []
        while (end := next_end(self._held, framing, self._searched)) is not None:
            event, self._held, self._searched = self._held[:end], self._held[end:], 0
            events.append(event_of(self._known(event), framing))
        self._searched = len(self._held)
        if len(self._held) > _LARGEST_EVENT:
            events.append(_event(self._held))
            self._framing, self._held = None, b""
        return events


def _event(piece: bytes) -> StreamEvent:
    """A piece whose bytes continue those before it."""
    return StreamEvent(piece, [EventText(piece, (("bytes",),))], lambda parts: parts[0].raw)


def stream_of(headers: Mapping[str, str], redactor: Redactor, *, is_array: bool = False) -> RedactedStream:
    """What a readable body with these headers is passed on through.

    The borders of the pieces of a compressed one tell how well it was compressed, and so whether a text occurs in it
    twice: it is passed on as one piece.
    """
    framing: Framing | None = "array" if is_array else framing_of(headers.get("content-type", ""))
    return RedactedStream(redactor, framing, in_pieces="content-encoding" not in headers)
