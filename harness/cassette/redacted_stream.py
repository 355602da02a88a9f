"""Known secrets taken out of a stream, also where one is split over several chunks.

Only what may be the beginning of a secret is held back, so that a stream without any passes as it comes.
"""

import re

from harness.cassette.redaction import Redactor


class RedactedStream:
    """One stream of bytes. What `feed` and `finish` give, put together, is the whole text without known secrets."""

    def __init__(self, redactor: Redactor) -> None:
        self._names = {form.encode("utf-8", "surrogatepass"): name for form, name in redactor.forms.items()}
        longest_first = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, longest_first))) if self._names else None
        self._beginnings = {form[:length] for form in self._names for length in range(1, len(form))}
        self._most = max(map(len, self._names), default=0)
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What may be passed on now."""
        if self._pattern is None:
            return chunk
        text, self._held = self._held + chunk, b""
        passed: list[bytes] = []
        at = 0
        while True:
            pending = self._pending(text, at)
            found = self._pattern.search(text, at)
            if found is None or found.start() >= pending:
                break
            passed += [text[at : found.start()], f"<secret:{self._names[found.group()]}>".encode()]
            at = found.end()
        self._held = text[pending:]
        return b"".join([*passed, text[at:pending]])

    def finish(self) -> bytes:
        """What was held back, at the end of the stream."""
        held, self._held = self._held, b""
        if self._pattern is None:
            return held
        return self._pattern.sub(lambda found: f"<secret:{self._names[found.group()]}>".encode(), held)

    def _pending(self, text: bytes, at: int) -> int:
        """Where the first part begins that could still become a secret."""
        first = max(at, len(text) - self._most)
        return next((start for start in range(first, len(text)) if text[start:] in self._beginnings), len(text))
