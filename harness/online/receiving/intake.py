"""What is done with an export request, whatever it came by: decoded, redacted, written and flushed, or refused."""

import asyncio
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from harness.online.receiving.bounds import BadRequest
from harness.online.receiving.cleaning import RecordCleaner
from harness.online.receiving.tokens import AccessTokens
from harness.online.receiving.wire import Decoded, Signal, decode
from harness.online.record import line_of, stored
from harness.online.storage.journal import JournalUnavailable, StoreJournal

_RETRY_FULL_S: Final = 1
_RETRY_FAILED_S: Final = 5
_STORED_TIMES: Final = 4
"""So much larger may a request be when it is stored: each record holds its resource."""

_WAITING_TIMES: Final = 4
"""So many requests of the maximum size may wait to be read."""
_LARGE: Final = 1 << 15
"""Bytes from which on a request is read in a thread of its own, so that the others are answered meanwhile."""


class Refused(Exception):
    """A request as a whole is not taken: an HTTP status, the reason, and when to send it again, if at all."""

    def __init__(self, status: int, words: str, retry_after_s: int | None = None) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.retry_after_s = retry_after_s


class Intake:
    """The way from a request's body to the journal."""

    def __init__(self, journal: StoreJournal, cleaner: RecordCleaner, tokens: AccessTokens, max_body: int) -> None:
        """`max_body`: bytes of a request, also after decompression."""
        self._journal = journal
        self._cleaner = cleaner
        self.tokens = tokens
        self.max_body = max_body
        self._one_by_one = ThreadPoolExecutor(1, thread_name_prefix="large requests")
        self._waiting = 0
        """Bytes of the large requests that are being read, or wait for it."""
        self.counts: Counter[str] = Counter()
        """`spans`, `logs`, `requests`, `bytes`, `cut`, `rejected: <reason>`, `refused: <status>`."""

    def source_of(self, authorization: str) -> tuple[str, bool]:
        """(source, trusted) of a request by its header. Raises Refused."""
        found = self.tokens.source_of(authorization)
        if found is None:
            raise Refused(401, "the bearer token is missing or wrong")
        return found

    def check_room(self) -> None:
        """Raises Refused where too much waits for the disk."""
        if self._journal.is_full:
            raise Refused(429, "too much waits for the disk; send it again", _RETRY_FULL_S)

    async def take(self, signal: Signal, body: bytes, sender: tuple[str, bool], *, as_json: bool = False) -> Decoded:
        """Returns when the records are on the disk. Raises Refused: then nothing of the request was kept."""
        if len(body) <= _LARGE:
            decoded = _decoded(signal, body, as_json)
            self._cleaner.clean(decoded.records)
            lines = self._lines(decoded, *sender)
        else:
            decoded, lines = await self._take_large(signal, body, sender, as_json)
        if lines:
            await self._keep(lines)
        self._count(signal, decoded, len(body))
        return decoded

    def close(self) -> None:
        """Ends the thread of large requests."""
        self._one_by_one.shutdown()

    async def _take_large(
        self, signal: Signal, body: bytes, sender: tuple[str, bool], as_json: bool
    ) -> tuple[Decoded, bytes]:
        if self._waiting + len(body) > self.max_body * _WAITING_TIMES:
            raise Refused(429, "too many large requests wait; send it again", _RETRY_FULL_S)
        self._waiting += len(body)
        loop = asyncio.get_running_loop()
        try:
            decoded, lines, found = await loop.run_in_executor(
                self._one_by_one, self._read_apart, signal, body, sender, as_json
            )
        finally:
            self._waiting -= len(body)
        self._cleaner.count(found)
        return decoded, lines

    def _read_apart(
        self, signal: Signal, body: bytes, sender: tuple[str, bool], as_json: bool
    ) -> tuple[Decoded, bytes, int]:
        """The records, their lines, and in how many places a credential stood."""
        decoded = _decoded(signal, body, as_json)
        found = self._cleaner.clean_apart(decoded.records)
        return decoded, self._lines(decoded, *sender), found

    def _lines(self, decoded: Decoded, source: str, trusted: bool) -> bytes:
        now_ns, most = time.time_ns(), self.max_body * _STORED_TIMES
        lines, size = list[bytes](), 0
        for record in decoded.records:
            lines.append(line_of(stored(record, source=source, trusted=trusted, received_ns=now_ns)))
            size += len(lines[-1])
            if size > most:
                raise Refused(413, f"the request's records are stored in at most {most} bytes; send smaller batches")
        return b"".join(lines)

    async def _keep(self, lines: bytes) -> None:
        try:
            await asyncio.shield(asyncio.wrap_future(self._journal.append(lines)))
        except JournalUnavailable as error:
            why = error.strerror or "it is ending"
            raise Refused(503, f"the store cannot be written: {why}; send it again", _RETRY_FAILED_S) from None

    def _count(self, signal: Signal, decoded: Decoded, size: int) -> None:
        self.counts["spans" if signal == "traces" else "logs"] += len(decoded.records)
        self.counts["requests"] += 1
        self.counts["bytes"] += size
        self.counts["cut"] += decoded.cut
        for reason, number in decoded.rejected.items():
            self.counts[f"rejected: {reason}"] += number


def _decoded(signal: Signal, body: bytes, as_json: bool) -> Decoded:
    try:
        return decode(signal, body, as_json=as_json)
    except BadRequest as error:
        raise Refused(400, str(error)) from None
