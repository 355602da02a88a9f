"""Removes known secrets from a stream of events, also if the texts of several events make one together.

A client joins the deltas of a streamed answer, so that a key is nowhere in the bytes and whole in the result.
"""

from typing import Final

from harness.cassettes.redaction import Redactor
from harness.cassettes.split_secrets import (
    EventQueue,
    Framing,
    StreamEvent,
    event_of,
    framing_of,
    next_end,
    pseudonym_of,
)

# Removes known secrets from a stream, also if one is split over several chunks.
#
# Only a possible beginning of a secret is buffered, so that a stream without secrets passes without delay.


class RedactedStream:
    """One stream of bytes. The concatenated results of `feed` and `finish` are the whole text without known secrets."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._search = redactor.search
        self._held = b""

    waits = False
    """Nothing waits for more than its next bytes."""

    def feed(self, chunk: bytes) -> bytes:
        """What may be passed on now."""
        if self._search is None:
            return chunk
        text, self._held = self._held + chunk, b""
        passed: list[bytes] = []
        at = 0
        while not isinstance(found := self._search.next_or_open(text, at), int):
            passed += [text[at : found.start], pseudonym_of(found.name)]
            at = found.end
        self._held = text[found:]
        return b"".join([*passed, text[at:found]])

    def release(self) -> bytes:
        """Nothing: what is buffered may be the beginning of a secret."""
        return b""

    def finish(self) -> bytes:
        """Returns the buffered bytes at the end of the stream."""
        held, self._held = self._held, b""
        return self._redactor.known(held)


LONGEST_WAIT_S: Final = 2.0
"""The time after which a stream that pauses passes on what waits: a client may have to answer it first."""
_LARGEST_EVENT: Final = 1024 * 1024
"""Bytes without an end after which what there is counts as one event."""


class RedactedEvents:
    """One stream of bytes in one framing; like `RedactedStream`, it may be fed in any pieces."""

    def __init__(self, redactor: Redactor, framing: Framing) -> None:
        self._bytes = RedactedStream(redactor)
        self._framing: Framing = framing
        self._queue = EventQueue(redactor.search)
        self._held = b""
        self._searched = 0
        self._is_plain = redactor.search is None

    @property
    def waits(self) -> bool:
        """Whether events wait that `release` would pass on."""
        return self._queue.waits

    def feed(self, chunk: bytes) -> bytes:
        """What may be passed on now."""
        clean = self._bytes.feed(chunk)
        return clean if self._is_plain else self._divided(clean)

    def release(self) -> bytes:
        """The events that wait, when the stream pauses."""
        return b"".join(event.encoded for event in self._queue.release())

    def finish(self) -> bytes:
        """Returns the buffered bytes at the end of the stream."""
        last = self._divided(self._bytes.finish())
        rest, self._held = self._held, b""
        if rest:
            last += b"".join(event.encoded for event in self._queue.put(event_of(rest, self._framing)))
        return last + self.release()

    def _divided(self, clean: bytes) -> bytes:
        self._held += clean
        passed: list[StreamEvent] = []
        while (end := next_end(self._held, self._framing, self._searched)) is not None:
            event, self._held, self._searched = self._held[:end], self._held[end:], 0
            passed += self._queue.put(event_of(event, self._framing))
        self._searched = len(self._held)
        if len(self._held) > _LARGEST_EVENT:
            event, self._held, self._searched = self._held, b"", 0
            passed += self._queue.put(event_of(event, self._framing))
        return b"".join(event.encoded for event in passed)


def redacted_stream(
    redactor: Redactor, content_type: str, *, is_array: bool = False
) -> RedactedStream | RedactedEvents:
    """What removes known secrets from a stream of this type."""
    framing: Framing | None = "array" if is_array else framing_of(content_type)
    return RedactedStream(redactor) if framing is None else RedactedEvents(redactor, framing)
