"""Removes known secrets from a stream, also where one is split over several chunks.

Only a possible beginning of a secret is buffered, so that a stream without secrets passes without delay.
"""

from harness.cassette.redaction.pseudonyms import pseudonym_of
from harness.cassette.redaction.redaction import Redactor


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
        """Nothing: what is held may be the beginning of a secret."""
        return b""

    def finish(self) -> bytes:
        """Returns the buffered bytes at the end of the stream."""
        held, self._held = self._held, b""
        return self._redactor.known(held)
