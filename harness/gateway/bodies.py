"""Bodies of requests and answers: read within limits, worked on in a thread, and passed on in pieces."""

import asyncio
import ctypes
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from harness.gateway.exchange import WORTH_A_THREAD_BYTES, LargeWork
from harness.gateway.models.formats import ModelAnswer
from harness.gateway.upstream.transport import Refusal
from harness.values import JSON_STRING, MAX_VALUES

# Configures the C library's allocator so that most freed memory is returned to the system.
#
# A trial whose agent sends large amounts of data (bodies, answers of hundreds of kilobytes that become spans and files)
# temporarily needs tens of megabytes. By default, glibc then starts to serve blocks of up to 32 MB from its arenas (16
# on two processors), and keeps up to 64 MB of free memory at the end of each. Measured in 1,008 trials with 64 in
# flight, one in four of which misbehaves: the minimum of resident memory rose from 192 MB early to 256 MB at the end,
# of which the C library used 32 MB; Python's own heap did not grow. With these settings: 110 MB and 116 MB.

_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_MMAP_THRESHOLD_BYTES = 128 * 1024
"""glibc's own initial threshold."""


def keep_no_large_blocks() -> None:
    """Makes this process return large blocks as soon as they are freed; other C libraries do so by default."""
    setting = getattr(ctypes.CDLL(None), "mallopt", None)
    if setting is not None:
        setting(_MMAP_THRESHOLD, _MMAP_THRESHOLD_BYTES)  # an explicit value switches off glibc's dynamic threshold
        setting(_TRIM_THRESHOLD, _MMAP_THRESHOLD_BYTES)


def give_back() -> None:
    """Returns free memory between blocks in use to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


BODIES_MAX_BYTES = 128 * 1024 * 1024
VALUES_MAX = 1_000_000
"""Of JSON in the requests of one trial that are not answered yet: a value of two bytes takes 120 when it is read."""
_MUCH_BYTES = 4 * 1024 * 1024
_UNTIL_FREED_S = 0.5


@dataclass
class IntakeLimit:
    """The bytes that are read of the bodies of one trial's requests, and their values, until these are answered. Used
    on the gateway's own thread only.
    """

    buffered: int = 0
    values: int = 0
    most: int = 0

    def close(self) -> None:
        """Returns the memory of large requests to the system: the allocator would keep it for the rest of the run."""
        if self.most > _MUCH_BYTES:
            asyncio.get_running_loop().call_later(_UNTIL_FREED_S, give_back)


@dataclass
class Body:
    """The buffered part of one request's body."""

    intake: IntakeLimit
    buffered: int = 0
    values: int = 0

    def admits(self, size: int) -> bool:
        """Counts `size` more bytes; False if the trial's limit would be exceeded."""
        if self.intake.buffered + size > BODIES_MAX_BYTES:
            return False
        self.intake.buffered += size
        self.intake.most = max(self.intake.most, self.intake.buffered)
        self.buffered += size
        return True

    def admits_values(self, count: int) -> bool:
        """Counts the objects, lists and commas of the body; False if the trial's limit would be exceeded."""
        if self.intake.values + count > VALUES_MAX:
            return False
        self.intake.values += count
        self.values += count
        return True


BODY = web.RequestKey("harness.body", Body)


MAX_BODY_BYTES = 1024 * 1024
_BLANKS = 1000
_FEW = 10_000
_BODY_TIMEOUT_S = 10.0
_UNDONE: Final = frozenset({"", "identity", "gzip", "deflate", "br", "zstd"})
"""Encodings that aiohttp's parser undoes."""


class RouteHandler(Protocol):
    """Serves some paths of a session in its own protocol: a model's wire format, MCP, the agent's own traces."""

    def opens(self, path: str) -> bool:
        """Whether this handler serves the path (undecoded)."""
        ...

    async def handle(self, request: web.BaseRequest, *, is_open: bool) -> web.StreamResponse:
        """One request; not `is_open`: the trial has ended. May raise Refusal."""
        ...


def error_body(kind: str, message: str) -> bytes:
    return json.dumps({"error": {"type": kind, "message": message}}).encode()


async def read_body(request: web.BaseRequest, most: int = MAX_BODY_BYTES) -> bytes:
    """The whole body, without its encoding. Raises Refusal for one that is larger than `most`, one too many, too slow,
    broken, or in an encoding that the server has not undone: nothing could be searched for in it.
    """
    if (encoding := ", ".join(request.headers.getall("content-encoding", ())).strip().lower()) not in _UNDONE:
        known = ", ".join(sorted(_UNDONE - {""}))
        raise Refusal(415, "bad_request", f"the content-encoding {encoding!r} is not read here; send one of {known}")
    if (request.content_length or 0) > most:
        raise _too_large(most)
    try:
        return await _read(request, most)
    except TimeoutError:
        raise Refusal(408, "bad_request", f"the body did not arrive within {_BODY_TIMEOUT_S:g} s") from None
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise Refusal(400, "bad_request", f"the body cannot be read: {error}") from None


async def read_json(request: web.BaseRequest, large: LargeWork, most: int = MAX_BODY_BYTES) -> bytes:
    """Like `read_body`, for a body that is read as JSON; raises Refusal also if the trial's requests hold too many
    values.
    """
    raw = await read_body(request, most)
    count = values_in(raw) if len(raw) < WORTH_A_THREAD_BYTES else await large.done(len(raw), lambda: values_in(raw))
    # One that has too many by itself is refused before it is read into values.
    if count <= MAX_VALUES and not request[BODY].admits_values(count):
        limit = f"the requests that are not answered yet hold {VALUES_MAX} objects, lists and commas"
        raise Refusal(503, "too_much_at_once", f"{limit}; wait for their answers")
    return raw


def values_in(raw: bytes) -> int:
    """How many objects, lists and commas a text holds that may be JSON, as `parse_json` counts them; more than
    MAX_VALUES if it would be refused for them, and 0 if it begins like none of them.
    """
    if raw[:_BLANKS].lstrip()[:1] not in (b"{", b"["):
        return 0
    found = sum(map(raw.count, (b"{", b"[", b",")))
    if found <= _FEW:
        return found
    outside, strings = JSON_STRING.subn("", raw.decode("latin-1"), count=2 * MAX_VALUES + 2)
    return max(sum(map(outside.count, "{[,")), strings // 2)


async def _read(request: web.BaseRequest, most: int) -> bytes:
    body, chunk, content = bytearray(), b"", request.content
    try:
        if content.is_eof():  # the body arrived with the head, as a tool's arguments do: no wait
            chunk = content.read_nowait()
            _admit(request, len(chunk), len(chunk), most)
            body += chunk
        if not content.at_eof():
            async with asyncio.timeout(_BODY_TIMEOUT_S):
                while chunk := await content.readany():
                    _admit(request, len(chunk), len(body) + len(chunk), most)
                    body += chunk
        return bytes(body)
    except BaseException:
        # The traceback of a cancelled or rejected request keeps all data that was read, until the next garbage
        # collection.
        body.clear()
        chunk = b""
        raise


def _admit(request: web.BaseRequest, size: int, together: int, most: int) -> None:
    if not request[BODY].admits(size):
        raise _too_much()
    if together > most:
        raise _too_large(most)


def _too_large(most: int) -> Refusal:
    return Refusal(413, "too_large", f"the body is larger than {most} bytes")


def _too_much() -> Refusal:
    limit = f"the bodies of requests that are not answered yet hold {BODIES_MAX_BYTES} bytes"
    return Refusal(503, "too_much_at_once", f"{limit}; wait for their answers")


_NS_PER_MS = 1_000_000


class Delivery:
    """Writes an answer to the agent in pieces; a disconnect of the agent does not stop it."""

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self._response: web.StreamResponse | None = None
        self._began_ns = time.monotonic_ns()
        self._body = bytearray()
        self.first_chunk_ms: float | None = None
        self.gone = False

    @property
    def begun(self) -> bool:
        return self._response is not None

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self._response = web.StreamResponse(status=status, headers=headers)
        try:
            await self._response.prepare(self._request)
        except ConnectionError:
            self.gone = True

    def came(self) -> None:
        """Notes that a piece came, before it is passed on."""
        if self.first_chunk_ms is None:
            self.first_chunk_ms = (time.monotonic_ns() - self._began_ns) / _NS_PER_MS

    async def write(self, piece: bytes) -> None:
        """Passes a piece on immediately."""
        self.came()
        self._body += piece
        if self.gone or self._response is None:
            return
        try:
            await self._response.write(piece)
        except ConnectionError:
            self.gone = True

    async def end(self) -> web.StreamResponse:
        assert self._response is not None
        if not self.gone:
            try:
                await self._response.write_eof()
            except ConnectionError:
                self.gone = True
        return self._response

    def cut(self) -> web.StreamResponse:
        """Closes the connection in the middle of the answer, so that the agent observes the provider's failure."""
        assert self._response is not None
        self._response.force_close()
        if self._request.transport is not None:
            self._request.transport.close()
        return self._response

    @property
    def body(self) -> bytes:
        return bytes(self._body)


async def deliver(request: web.BaseRequest, answer: ModelAnswer) -> web.StreamResponse:
    """Sends a whole answer; a stream is sent at once."""
    if not answer.streamed and answer.outcome == "answer":
        return web.Response(status=answer.status, headers=answer.headers, body=answer.body)
    delivery = Delivery(request)
    await delivery.begin(answer.status, answer.headers)
    if answer.body:
        await delivery.write(answer.body)
    answer.first_chunk_ms = delivery.first_chunk_ms
    return await delivery.end() if answer.outcome == "answer" else delivery.cut()
