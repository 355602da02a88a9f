"""The OTLP/HTTP receiver: `/v1/traces` and `/v1/logs`, as the OpenTelemetry protocol has them.

A request is answered with 200 when its records are redacted, written and flushed. Records that are not what OTLP says
are rejected one by one (partial success). 429 and 503, with Retry-After, ask the sender to send the whole request
again: nothing of it was kept.
"""

import asyncio
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Final, cast

from aiohttp import web

from harness.errors import HarnessError
from harness.online.cleaning import RecordCleaner
from harness.online.compaction import Compactor
from harness.online.engine import connect
from harness.online.journal import MAX_WAITING, SEGMENT_BYTES, Journal, JournalUnavailable
from harness.online.layout import StoreLayout
from harness.online.record import line_of, stored
from harness.online.tokens import Tokens
from harness.online.wire import BadRequest, Decoded, Signal, answer, decode
from harness.values import Frozen, JsonObject

_JSON: Final = "application/json"
_PROTOBUF: Final = "application/x-protobuf"
_PATHS: Final = {"/v1/traces": "traces", "/v1/logs": "logs"}
_ROUND_S: Final = 5.0
_RETRY_FULL_S, _RETRY_FAILED_S = 1, 5
_STORED_TIMES: Final = 4
"""So much larger may a request be when it is stored: each record holds its resource."""
_LOCAL_HOST: Final = re.compile(
    r"(?:localhost|host\.docker\.internal|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?", re.IGNORECASE
)
"""What senders of this machine name; a web page whose own name leads here (DNS rebinding) names another."""
MAX_BODY: Final = 32 << 20
"""Bytes of a request, also after decompression."""


class ReceiverOptions(Frozen):
    """Where a receiver listens, and what it takes."""

    host: str = "127.0.0.1"
    port: int = 4318
    """0: any free one."""
    max_body: int = MAX_BODY
    retention_days: float | None = None
    """Days after which parts are dropped; None: never."""
    segment_bytes: int = SEGMENT_BYTES
    max_waiting: int = MAX_WAITING
    """Bytes that wait for the disk, from which on requests are answered with 429."""


class _Refused(Exception):
    """A request as a whole is not taken."""

    def __init__(self, status: int, words: str, retry_after_s: int | None = None) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.retry_after_s = retry_after_s


class Receiver:
    """Serves until it is closed. Its methods belong to one event loop."""

    def __init__(
        self,
        layout: StoreLayout,
        options: ReceiverOptions,
        tokens: Tokens,
        secrets: dict[str, str],
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Makes the store where there is none.

        Raises ResultsError where another receiver writes it, and UsageError where DuckDB is not installed.
        """
        connect().close()
        description = layout.create()
        self._options = options
        self._tokens = tokens
        self._cleaner = RecordCleaner(secrets, description.key)
        self._journal = Journal(layout, segment_bytes=options.segment_bytes, max_waiting=options.max_waiting)
        self._compactor = Compactor(layout)
        self._say = say
        self._runner: web.AppRunner | None = None
        self._rounds: asyncio.Task[None] | None = None
        self.counts: Counter[str] = Counter()
        """`spans`, `logs`, `requests`, `bytes`, `cut`, `rejected: <reason>`, `refused: <status>`."""

    async def start(self) -> str:
        """Begins to listen; the URL. Raises OSError where the port is taken."""
        app = web.Application()
        for path in _PATHS:
            app.router.add_post(path, self._export)
        app.router.add_get("/status", self._status)
        self._runner = web.AppRunner(app, auto_decompress=False, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._options.host, self._options.port)
        await site.start()
        self._rounds = asyncio.create_task(self._maintain())
        host, port = self._runner.addresses[0][:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    async def close(self) -> None:
        """Ends the requests under way, and flushes what they brought; a second call does nothing."""
        if self._rounds is not None:
            self._rounds.cancel()
            await asyncio.gather(self._rounds, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
        await asyncio.to_thread(self._journal.close)

    @property
    def status(self) -> JsonObject:
        """Counts since the start, for people and scripts."""
        counts: JsonObject = dict(sorted(self.counts.items()))
        return {**counts, "redacted": self._cleaner.found, "waiting_bytes": self._journal.waiting_bytes}

    async def _status(self, request: web.Request) -> web.Response:
        try:
            self._source(request)
        except _Refused as refusal:
            return self._refuse(refusal, as_json=True)
        return web.json_response(self.status)

    async def _export(self, request: web.Request) -> web.Response:
        as_json = request.content_type == _JSON
        try:
            signal, decoded = await self._take(request, as_json=as_json)
        except _Refused as refusal:
            return self._refuse(refusal, as_json=as_json)
        body = answer(signal, decoded, as_json=as_json)
        return web.Response(body=body, content_type=_JSON if as_json else _PROTOBUF)

    async def _take(self, request: web.Request, *, as_json: bool) -> tuple[Signal, Decoded]:
        source, trusted = self._source(request)
        if not as_json and request.content_type != _PROTOBUF:
            raise _Refused(415, f"the content type is {_PROTOBUF} or {_JSON}, not {request.content_type!r}")
        if self._journal.is_full:
            raise _Refused(429, "too much waits for the disk; send it again", _RETRY_FULL_S)
        body = await self._body(request)
        signal = cast(Signal, _PATHS[request.path])
        try:
            decoded = decode(signal, body, as_json=as_json)
        except BadRequest as error:
            raise _Refused(400, str(error)) from None
        self._cleaner.clean(decoded.records)
        lines = self._lines(decoded, source, trusted=trusted)
        if lines:
            await self._keep(lines)
        self._count(signal, decoded, len(body))
        return signal, decoded

    def _lines(self, decoded: Decoded, source: str, *, trusted: bool) -> bytes:
        now_ns, most = time.time_ns(), self._options.max_body * _STORED_TIMES
        lines, size = list[bytes](), 0
        for record in decoded.records:
            lines.append(line_of(stored(record, source=source, trusted=trusted, received_ns=now_ns)))
            size += len(lines[-1])
            if size > most:
                raise _Refused(413, f"the request's records are stored in at most {most} bytes; send smaller batches")
        return b"".join(lines)

    async def _keep(self, lines: bytes) -> None:
        try:
            await asyncio.shield(asyncio.wrap_future(self._journal.append(lines)))
        except JournalUnavailable as error:
            why = error.strerror or "it is ending"
            raise _Refused(503, f"the store cannot be written: {why}; send it again", _RETRY_FAILED_S) from None

    def _count(self, signal: Signal, decoded: Decoded, size: int) -> None:
        self.counts["spans" if signal == "traces" else "logs"] += len(decoded.records)
        self.counts["requests"] += 1
        self.counts["bytes"] += size
        self.counts["cut"] += decoded.cut
        for reason, number in decoded.rejected.items():
            self.counts[f"rejected: {reason}"] += number

    def _source(self, request: web.Request) -> tuple[str, bool]:
        found = self._tokens.source_of(request.headers.get("Authorization", ""))
        if found is None:
            raise _Refused(401, "the bearer token is missing or wrong")
        if not self._tokens.protects and _LOCAL_HOST.fullmatch(request.host) is None:
            raise _Refused(403, "without a token, the receiver is reached by localhost or an IP address only")
        return found

    async def _body(self, request: web.Request) -> bytes:
        most = self._options.max_body
        encoding = request.headers.get("Content-Encoding", "identity").lower()
        if encoding not in ("identity", "gzip"):
            raise _Refused(415, f"the content encoding is gzip or none, not {encoding[:40]!r}")
        chunks, size, came = list[bytes](), 0, 0
        opened = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
        try:
            async for chunk in request.content.iter_chunked(1 << 16):
                plain = chunk if opened is None else opened.decompress(chunk, most + 1 - size)
                size, came = size + len(plain), came + len(chunk)
                if max(size, came) > most or (opened is not None and opened.unconsumed_tail):
                    raise _Refused(413, f"a request is at most {most} bytes, also after decompression")
                if opened is not None and opened.unused_data:
                    raise _Refused(400, "bytes follow the end of the gzip stream")
                chunks.append(plain)
        except zlib.error:
            raise _Refused(400, "the body is not gzip, as its content encoding says") from None
        if opened is not None and not opened.eof:
            raise _Refused(400, "the gzip stream ends before its end")
        return b"".join(chunks)

    def _refuse(self, refusal: _Refused, *, as_json: bool) -> web.Response:
        self.counts[f"refused: {refusal.status}"] += 1
        headers = {} if refusal.retry_after_s is None else {"Retry-After": str(refusal.retry_after_s)}
        if refusal.status in (400, 401, 403, 413):
            headers["Connection"] = "close"  # the rest of the body is not read
        if as_json:
            return web.json_response({"message": refusal.words}, status=refusal.status, headers=headers)
        return web.Response(
            body=_status_message(refusal.words), content_type=_PROTOBUF, status=refusal.status, headers=headers
        )

    async def _maintain(self) -> None:
        while True:
            await self.compact()
            await asyncio.sleep(_ROUND_S)

    async def compact(self, *, all_of_it: bool = False) -> None:
        """One round of compaction beside the requests; what fails is told and tried again in the next round.

        `all_of_it`: also of the segment that is being written.
        """
        try:
            if all_of_it:
                await asyncio.to_thread(self._journal.end_segment)
            ended = self._journal.ended_segments()
            await asyncio.to_thread(self._compactor.compact, ended, retention_days=self._options.retention_days)
        except (OSError, HarnessError) as error:
            self.counts["compaction failed"] += 1
            self._say(f"compaction: {error}; the journal is kept, and it is tried again")


def _status_message(words: str) -> bytes:
    """A google.rpc.Status with its message: what OTLP has for failures in protobuf."""
    text = words.encode()[:1000]
    length = len(text)
    prefix = bytes([0x12, length]) if length < 128 else bytes([0x12, (length & 0x7F) | 0x80, length >> 7])
    return prefix + text
