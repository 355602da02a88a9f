"""Removes known secrets from the payloads of AWS's frames, and recomputes their lengths and checksums."""

from dataclasses import replace

from harness.cassette import EventQueue, Redactor, StreamEvent, payload_event
from harness.upstream.model.wire.aws_frames import Frame, next_frame


class RedactedFrames:
    """One stream; a frame is passed on when it is complete, and no key may have begun in its text."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = bytearray()
        self._queue = EventQueue(redactor.search)
        self._frames: list[Frame] = []

    @property
    def waits(self) -> bool:
        """Whether frames wait that `release` would pass on."""
        return self._queue.waits

    def feed(self, chunk: bytes) -> bytes:
        """Returns the bytes that may be passed on. Raises BrokenFrame."""
        self._held += chunk
        passed: list[bytes] = []
        while (found := next_frame(self._held)) is not None:
            frame, size = found
            del self._held[:size]
            self._frames.append(frame)
            passed += self._encoded(self._queue.put(payload_event(self._redactor.known(frame.payload))))
        return b"".join(passed)

    def release(self) -> bytes:
        """The frames that wait, where the stream pauses."""
        return b"".join(self._encoded(self._queue.release()))

    def finish(self) -> bytes:
        """What waits; half a frame at the end of a truncated stream, which no client could read, is discarded."""
        self._held.clear()
        return self.release()

    def _encoded(self, events: list[StreamEvent]) -> list[bytes]:
        frames, self._frames = self._frames[: len(events)], self._frames[len(events) :]
        return [replace(frame, payload=event.encoded).encoded for frame, event in zip(frames, events, strict=True)]
