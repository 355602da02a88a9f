"""Removes known secrets from the payloads of AWS's frames, and recomputes their lengths and checksums."""

from harness.cassette import Redactor
from harness.upstream.model.wire.aws_frames import changed, next_frame


class RedactedFrames:
    """One stream; a frame is passed on when it is complete."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = bytearray()

    def feed(self, chunk: bytes) -> bytes:
        """Returns the bytes that may be passed on. Raises BrokenFrame."""
        self._held += chunk
        passed: list[bytes] = []
        while (found := next_frame(self._held)) is not None:
            frame, size = found
            passed.append(changed(frame, self._redactor.known))
            del self._held[:size]
        return b"".join(passed)

    def finish(self) -> bytes:
        """Discards half a frame at the end of a truncated stream, which no client could read."""
        self._held.clear()
        return b""
