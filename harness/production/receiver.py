"""The OTLP/HTTP receiver: `/v1/traces` and `/v1/logs`, as the OpenTelemetry protocol has them.

A request is answered with 200 when its records are redacted, written and flushed. Records that are not what OTLP says
are rejected one by one (partial success). 429 and 503, with Retry-After, ask the sender to send the whole request
again: nothing of it was kept.
"""

import asyncio
import base64
import binascii
import fcntl
import hashlib
import hmac
import re
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import IO, Final, cast, get_args

from aiohttp import web

from harness.errors import HarnessError, ResultsError, UsageError
from harness.production.clickhouse import TTL_REMEDY, Database, RecordSender
from harness.production.record import RecordCleaner, StoredRecord, stored
from harness.production.settings import ClickHouseSettings
from harness.production.storage import StoreLayout, add_records, transaction
from harness.production.store import forget_older
from harness.traces.otlp import Decoded, NotOtlp, Signal, answer, decode
from harness.values import Frozen, JsonObject

# The receiver's writer: what is acknowledged is on the disk.
#
# One thread writes. Requests that arrive while it flushes are written by one transaction and share the next flush
# (group commit). If a transaction fails, as on a full disk, nothing of it is kept and its requests are refused: the
# sender keeps them and sends them again.

MAX_WAITING: Final = 64 << 20
"""Bytes that wait for the disk, from which on requests are answered with 429."""
_MOST_AT_ONCE: Final = 16 << 20
"""Bytes of one transaction, if there are several requests: other processes that write wait for its end."""


class StoreUnavailable(OSError):
    """The store could not be written; nothing of the request was kept."""


class StoreWriter:
    """Writes the records of one store. `close` it; a second one of the same store is refused."""

    def __init__(self, layout: StoreLayout, *, max_waiting: int = MAX_WAITING) -> None:
        """Raises ResultsError if another receiver writes this store."""
        self._max_waiting = max_waiting
        self._lock = _writer_lock(layout.folder)
        self._connection = layout.open()
        self._changed = threading.Condition()
        self._queue: list[tuple[Sequence[StoredRecord], int, Future[None]]] = []
        self.waiting_bytes = 0
        self._ended = False
        self._thread = threading.Thread(target=self._write_all, name="store", daemon=True)
        self._thread.start()

    @property
    def is_full(self) -> bool:
        """Whether so much waits for the disk that senders must wait too."""
        return self.waiting_bytes >= self._max_waiting

    def append(self, records: Sequence[StoredRecord], size: int) -> "Future[None]":
        """Done when the records, of about `size` bytes, are on the disk; StoreUnavailable if they are not."""
        done: Future[None] = Future()
        with self._changed:
            if self._ended:
                done.set_exception(StoreUnavailable("the receiver is ending"))
                return done
            self._queue.append((records, size, done))
            self.waiting_bytes += size
            self._changed.notify_all()
        return done

    def close(self) -> None:
        """Writes what waits; a second call does nothing."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()
        self._lock.close()

    def _write_all(self) -> None:
        with closing(self._connection) as connection:
            while taken := self._next():
                failure = _written(connection, [one for records, _, _ in taken for one in records])
                with self._changed:
                    self.waiting_bytes -= sum(size for _, size, _ in taken)
                for _, _, done in taken:
                    if failure is None:
                        done.set_result(None)
                    else:
                        done.set_exception(failure)

    def _next(self) -> list[tuple[Sequence[StoredRecord], int, "Future[None]"]]:
        """What is written together; nothing after the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._ended)
            count, size = 0, 0
            for _, more, _ in self._queue:
                if count and size + more > _MOST_AT_ONCE:
                    break
                count, size = count + 1, size + more
            taken, self._queue = self._queue[:count], self._queue[count:]
        return taken


def _written(connection: sqlite3.Connection, records: Sequence[StoredRecord]) -> StoreUnavailable | None:
    """Why the records could not be written."""
    try:
        with transaction(connection):
            add_records(connection, records)
    except sqlite3.Error as error:
        return StoreUnavailable(str(error))
    return None


def _writer_lock(folder: Path) -> IO[bytes]:
    lock = (folder / ".writer").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise ResultsError(
            f"another receiver writes the store {folder}",
            remedy="stop it, or give this one another `store` in online.yaml",
        ) from None
    return lock


DEFAULT_SOURCE: Final = "default"
SHORTEST: Final = 16


class AccessTokens:
    """Holds digests only. Without any token everybody who reaches the address may send."""

    def __init__(self, tokens: Mapping[str, str], trusted: Mapping[str, str]) -> None:
        """Both map names of sources to tokens.

        Raises UsageError for a token of under 16 characters, and for a trusted source whose name others have too:
        sessions are kept apart by it.
        """
        shared = {*trusted} & {*(tokens or (DEFAULT_SOURCE,))}
        if shared:
            raise UsageError(
                f"the trusted source {min(shared)!r} has the name of one that is not trusted",
                remedy="give it a name of its own",
            )
        self._by_digest: dict[bytes, tuple[str, bool]] = {}
        for trust, named in ((False, tokens), (True, trusted)):
            for name, token in named.items():
                if len(token) < SHORTEST:
                    raise UsageError(
                        f"the token of {name!r} has fewer than {SHORTEST} characters",
                        remedy="make one: python -c 'import secrets; print(secrets.token_urlsafe())'",
                    )
                self._by_digest[_digest(token)] = (name, trust)
        self._open = not tokens

    @property
    def protects(self) -> bool:
        """Whether a token is needed."""
        return not self._open

    def source_of(self, authorization: str) -> tuple[str, bool] | None:
        """(source, trusted) of a request by its header `Authorization`; None: it is refused. A token is a bearer's, or
        the password of a user: Langfuse's SDK sends its public key as the one and its secret key as the other.
        """
        kind, _, sent = authorization.partition(" ")
        is_bearer = kind.lower() == "bearer" and bool(sent.strip())
        token = sent.strip() if is_bearer else _password(sent) if kind.lower() == "basic" else ""
        for digest, found in self._by_digest.items():
            if token and hmac.compare_digest(digest, _digest(token)):
                return found
        return (DEFAULT_SOURCE, False) if self._open and not is_bearer else None


def _password(sent: str) -> str:
    try:
        return base64.b64decode(sent.strip(), validate=True).decode("utf-8", "replace").partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


_RETRY_FULL_S: Final = 1
_RETRY_FAILED_S: Final = 5
_STORED_TIMES: Final = 4
"""So much larger may a request be when it is stored: each record holds its resource."""
_ROW_BYTES: Final = 400
"""Of a record beside its body, about."""
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
    """The way from a request's body to the store."""

    def __init__(self, writer: StoreWriter, cleaner: RecordCleaner, max_body: int) -> None:
        """`max_body`: bytes of a request, also after decompression."""
        self._writer = writer
        self._cleaner = cleaner
        self.max_body = max_body
        self._one_by_one = ThreadPoolExecutor(1, thread_name_prefix="large requests")
        self._waiting = 0
        """Bytes of the large requests that are being read, or wait for it."""
        self.counts: Counter[str] = Counter()
        """`spans`, `logs`, `requests`, `bytes`, `cut`, `rejected: <reason>`, `refused: <status>`."""

    async def take(self, signal: Signal, body: bytes, sender: tuple[str, bool], *, as_json: bool = False) -> Decoded:
        """Returns when the records are on the disk. Raises Refused: then nothing of the request was kept."""
        if len(body) <= _LARGE:
            decoded = _decoded(signal, body, as_json)
            self._cleaner.clean(decoded.records)
            rows, size = self._rows(decoded, *sender)
        else:
            decoded, rows, size = await self._take_large(signal, body, sender, as_json)
        if rows:
            await self._keep(rows, size)
        self._count(signal, decoded, len(body))
        return decoded

    def close(self) -> None:
        """Ends the thread of large requests."""
        self._one_by_one.shutdown()

    async def _take_large(
        self, signal: Signal, body: bytes, sender: tuple[str, bool], as_json: bool
    ) -> tuple[Decoded, list[StoredRecord], int]:
        if self._waiting + len(body) > self.max_body * _WAITING_TIMES:
            raise Refused(429, "too many large requests wait; send it again", _RETRY_FULL_S)
        self._waiting += len(body)
        loop = asyncio.get_running_loop()
        try:
            decoded, rows, size, found = await loop.run_in_executor(
                self._one_by_one, self._read_apart, signal, body, sender, as_json
            )
        finally:
            self._waiting -= len(body)
        self._cleaner.count(found)
        return decoded, rows, size

    def _read_apart(
        self, signal: Signal, body: bytes, sender: tuple[str, bool], as_json: bool
    ) -> tuple[Decoded, list[StoredRecord], int, int]:
        """The records as they came, their rows and bytes, and in how many places a credential stood."""
        decoded = _decoded(signal, body, as_json)
        found = self._cleaner.clean_apart(decoded.records)
        return decoded, *self._rows(decoded, *sender), found

    def _rows(self, decoded: Decoded, source: str, trusted: bool) -> tuple[list[StoredRecord], int]:
        now_ns, most = time.time_ns(), self.max_body * _STORED_TIMES
        rows, size = list[StoredRecord](), 0
        for record in decoded.records:
            rows.append(stored(record, source=source, trusted=trusted, received_ns=now_ns))
            size += len(rows[-1].body) + _ROW_BYTES
            if size > most:
                raise Refused(413, f"the request's records are stored in at most {most} bytes; send smaller batches")
        return rows, size

    async def _keep(self, rows: list[StoredRecord], size: int) -> None:
        try:
            await asyncio.shield(asyncio.wrap_future(self._writer.append(rows, size)))
        except StoreUnavailable as error:
            raise Refused(503, f"the store cannot be written: {error}; send it again", _RETRY_FAILED_S) from None

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
    except NotOtlp as error:
        raise Refused(400, str(error)) from None


_JSON: Final = "application/json"
_PROTOBUF: Final = "application/x-protobuf"
_PREFIXES: Final = ("", "/api/public/otel")
"""Of the paths; the second is that of Langfuse's SDK."""
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
    """Days after which sessions are removed that received nothing meanwhile; None: never."""
    clickhouse: ClickHouseSettings | None = None
    """Where records are sent; None: they stay in the store's own file."""
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
        """Makes the store if there is none.

        Raises ResultsError if another receiver writes it, and UsageError if an extra is missing.
        """
        database = None if options.clickhouse is None else Database(options.clickhouse)
        if database is not None and options.retention_days is not None:
            raise UsageError("--retention-days is for the store's own file", remedy=TTL_REMEDY)
        key = layout.create()
        self._layout = layout
        self._options = options
        self._cleaner = RecordCleaner(secrets, key)
        self._writer = StoreWriter(layout, max_waiting=options.max_waiting)
        self._tokens = tokens
        self._intake = Intake(self._writer, self._cleaner, options.max_body)
        self.counts = self._intake.counts
        self._sender = None if database is None else RecordSender(layout, database)
        self._say = say
        self._runner: web.AppRunner | None = None
        self._rounds: asyncio.Task[None] | None = None

    async def start(self) -> str:
        """Begins to listen; the URL. Raises OSError if a port is taken: then the receiver is closed."""
        app = web.Application()
        for prefix in _PREFIXES:
            app.router.add_post(f"{prefix}/v1/metrics", self._ignore)
            for signal in get_args(Signal):
                app.router.add_post(f"{prefix}/v1/{signal}", self._export)
        app.router.add_get("/status", self._status)
        self._runner = web.AppRunner(app, auto_decompress=False, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._options.host, self._options.port)
        try:
            await site.start()
        except OSError:
            await self.close()
            raise
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
        await asyncio.to_thread(self._writer.close)

    @property
    def status(self) -> JsonObject:
        """Counts since the start, for people and scripts."""
        counts: JsonObject = dict(sorted(self.counts.items()))
        found: JsonObject = {**counts, "redacted": self._cleaner.found, "waiting_bytes": self._writer.waiting_bytes}
        if self._sender is not None:
            found |= {"sent": self._sender.sent, "waiting_records": self._sender.waiting}
        return found

    async def _status(self, request: web.Request) -> web.Response:
        try:
            self._source_and_trust(request)
        except Refused as refusal:
            return self._refuse(refusal, as_json=True)
        return web.json_response(self.status)

    async def _ignore(self, request: web.Request) -> web.Response:
        """Metrics, which an SDK sends beside what is stored: a refusal would be in the log of each sender."""
        as_json = request.content_type == _JSON
        try:
            self._source_and_trust(request)
        except Refused as refusal:
            return self._refuse(refusal, as_json=as_json)
        return web.Response(body=b"{}" if as_json else b"", content_type=_JSON if as_json else _PROTOBUF)

    async def _export(self, request: web.Request) -> web.Response:
        as_json = request.content_type == _JSON
        try:
            signal, decoded = await self._take(request, as_json=as_json)
        except Refused as refusal:
            return self._refuse(refusal, as_json=as_json)
        body = answer(signal, decoded, as_json=as_json)
        return web.Response(body=body, content_type=_JSON if as_json else _PROTOBUF)

    async def _take(self, request: web.Request, *, as_json: bool) -> tuple[Signal, Decoded]:
        sender = self._source_and_trust(request)
        if not as_json and request.content_type != _PROTOBUF:
            raise Refused(415, f"the content type is {_PROTOBUF} or {_JSON}, not {request.content_type!r}")
        if self._writer.is_full:
            raise Refused(429, "too much waits for the disk; send it again", _RETRY_FULL_S)
        body = await self._body(request)
        signal = cast(Signal, request.path.rpartition("/")[2])
        return signal, await self._intake.take(signal, body, sender, as_json=as_json)

    def _source_and_trust(self, request: web.Request) -> tuple[str, bool]:
        found = self._tokens.source_of(request.headers.get("Authorization", ""))
        if found is None:
            raise Refused(401, "the bearer token is missing or wrong")
        if not self._tokens.protects and _LOCAL_HOST.fullmatch(request.host) is None:
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
            await self.maintain()
            await asyncio.sleep(_ROUND_S)

    async def maintain(self) -> None:
        """One round of retention, or of sending to ClickHouse, beside the requests.

        What fails is reported and tried again in the next round.
        """
        days = self._options.retention_days
        try:
            if self._sender is not None:
                await asyncio.to_thread(self._sender.send)
            elif days is not None:
                await asyncio.to_thread(forget_older, self._layout, days)
        except (OSError, HarnessError) as error:
            work = "retention" if self._sender is None else "sending"
            self.counts[f"{work} failed"] += 1
            self._say(f"{work}: {error}; it is tried again")


def _status_message(words: str) -> bytes:
    """A google.rpc.Status with its message: what OTLP has for failures in protobuf."""
    text = words.encode()[:1000]
    length = len(text)
    prefix = bytes([0x12, length]) if length < 128 else bytes([0x12, (length & 0x7F) | 0x80, length >> 7])
    return prefix + text
