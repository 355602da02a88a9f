"""The OTLP/HTTP receiver: `/v1/traces` and `/v1/logs`, as the OpenTelemetry protocol has them.

A request is answered with 200 when its records are redacted, written and flushed. Records that are not what OTLP says
are rejected one by one (partial success). 429 and 503, with Retry-After, ask the sender to send the whole request
again: nothing of it was kept.
"""

import asyncio
import re
import zlib
from collections.abc import Callable
from typing import Final, cast

from aiohttp import web

from harness.errors import HarnessError, UsageError
from harness.online.clickhouse.database import TTL_REMEDY, Database
from harness.online.clickhouse.sending import RecordSender
from harness.online.compaction import Compactor
from harness.online.migration import migrate
from harness.online.receiving.cleaning import RecordCleaner
from harness.online.receiving.intake import Intake, Refused
from harness.online.receiving.tokens import AccessTokens
from harness.online.receiving.wire import Decoded, Signal, answer
from harness.online.settings import ClickHouseSettings
from harness.online.storage.engine import connect
from harness.online.storage.journal import MAX_WAITING, SEGMENT_BYTES, StoreJournal
from harness.online.storage.layout import StoreLayout
from harness.values import Frozen, JsonObject

_JSON: Final = "application/json"
_PROTOBUF: Final = "application/x-protobuf"
_PATHS: Final = {"/v1/traces": "traces", "/v1/logs": "logs"}
_ROUND_S: Final = 5.0
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
    clickhouse: ClickHouseSettings | None = None
    """Where records are sent from the journal; None: they become parts of the store."""
    max_waiting: int = MAX_WAITING
    """Bytes that wait for the disk, from which on requests are answered with 429."""


class Receiver:
    """Serves until it is closed. Its methods belong to one event loop."""

    def __init__(
        self,
        layout: StoreLayout,
        options: ReceiverOptions,
        tokens: AccessTokens,
        secrets: dict[str, str],
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Makes the store where there is none.

        Raises ResultsError where another receiver writes it, and UsageError where an extra is missing.
        """
        connect().close()
        database = None if options.clickhouse is None else Database(options.clickhouse)
        if database is not None and options.retention_days is not None:
            raise UsageError("--retention-days is for the store's own files", remedy=TTL_REMEDY)
        description = layout.create()
        migrate(layout)
        self._options = options
        self._cleaner = RecordCleaner(secrets, description.key)
        self._journal = StoreJournal(layout, segment_bytes=options.segment_bytes, max_waiting=options.max_waiting)
        self._intake = Intake(self._journal, self._cleaner, tokens, options.max_body)
        self.counts = self._intake.counts
        self._compactor = Compactor(layout)
        self._sender = None if database is None else RecordSender(layout, database)
        self._say = say
        self._runner: web.AppRunner | None = None
        self._rounds: asyncio.Task[None] | None = None

    async def start(self) -> str:
        """Begins to listen; the URL. Raises OSError where a port is taken: then the receiver is closed."""
        try:
            return await self._start()
        except OSError:
            await self.close()
            raise

    async def _start(self) -> str:
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
        await asyncio.to_thread(self._intake.close)
        await asyncio.to_thread(self._journal.close)

    @property
    def status(self) -> JsonObject:
        """Counts since the start, for people and scripts."""
        counts: JsonObject = dict(sorted(self.counts.items()))
        found: JsonObject = {**counts, "redacted": self._cleaner.found, "waiting_bytes": self._journal.waiting_bytes}
        if self._sender is not None:
            found |= {"sent": self._sender.sent, "waiting_segments": len(self._journal.ended_segments())}
        return found

    async def _status(self, request: web.Request) -> web.Response:
        try:
            self._source(request)
        except Refused as refusal:
            return self._refuse(refusal, as_json=True)
        return web.json_response(self.status)

    async def _export(self, request: web.Request) -> web.Response:
        as_json = request.content_type == _JSON
        try:
            signal, decoded = await self._take(request, as_json=as_json)
        except Refused as refusal:
            return self._refuse(refusal, as_json=as_json)
        body = answer(signal, decoded, as_json=as_json)
        return web.Response(body=body, content_type=_JSON if as_json else _PROTOBUF)

    async def _take(self, request: web.Request, *, as_json: bool) -> tuple[Signal, Decoded]:
        sender = self._source(request)
        if not as_json and request.content_type != _PROTOBUF:
            raise Refused(415, f"the content type is {_PROTOBUF} or {_JSON}, not {request.content_type!r}")
        self._intake.check_room()
        body = await self._body(request)
        signal = cast(Signal, _PATHS[request.path])
        return signal, await self._intake.take(signal, body, sender, as_json=as_json)

    def _source(self, request: web.Request) -> tuple[str, bool]:
        found = self._intake.source_of(request.headers.get("Authorization", ""))
        if not self._intake.tokens.protects and _LOCAL_HOST.fullmatch(request.host) is None:
            raise Refused(403, "without a token, the receiver is reached by localhost or an IP address only")
        return found

    async def _body(self, request: web.Request) -> bytes:
        most = self._options.max_body
        encoding = request.headers.get("Content-Encoding", "identity").lower()
        if encoding not in ("identity", "gzip"):
            raise Refused(415, f"the content encoding is gzip or none, not {encoding[:40]!r}")
        chunks, size, came = list[bytes](), 0, 0
        opened = zlib.decompressobj(wbits=31) if encoding == "gzip" else None
        try:
            async for chunk in request.content.iter_chunked(1 << 16):
                plain = chunk if opened is None else opened.decompress(chunk, most + 1 - size)
                size, came = size + len(plain), came + len(chunk)
                if max(size, came) > most or (opened is not None and opened.unconsumed_tail):
                    raise Refused(413, f"a request is at most {most} bytes, also after decompression")
                if opened is not None and opened.unused_data:
                    raise Refused(400, "bytes follow the end of the gzip stream")
                chunks.append(plain)
        except zlib.error:
            raise Refused(400, "the body is not gzip, as its content encoding says") from None
        if opened is not None and not opened.eof:
            raise Refused(400, "the gzip stream ends before its end")
        return b"".join(chunks)

    def _refuse(self, refusal: Refused, *, as_json: bool) -> web.Response:
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
        """One round of compaction, or of sending to ClickHouse, beside the requests.

        What fails is told and tried again in the next round.

        `all_of_it`: also of the segment that is being written.
        """
        try:
            if all_of_it:
                await asyncio.to_thread(self._journal.end_segment)
            ended = self._journal.ended_segments()
            if self._sender is not None:
                await asyncio.to_thread(self._sender.send, ended)
            else:
                await asyncio.to_thread(self._compactor.compact, ended, retention_days=self._options.retention_days)
        except (OSError, HarnessError) as error:
            work = "compaction" if self._sender is None else "sending"
            self.counts[f"{work} failed"] += 1
            self._say(f"{work}: {error}; the journal is kept, and it is tried again")


def _status_message(words: str) -> bytes:
    """A google.rpc.Status with its message: what OTLP has for failures in protobuf."""
    text = words.encode()[:1000]
    length = len(text)
    prefix = bytes([0x12, length]) if length < 128 else bytes([0x12, (length & 0x7F) | 0x80, length >> 7])
    return prefix + text
