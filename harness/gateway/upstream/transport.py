"""Requests over the network: the shared HTTP client, its thread, retries of reads, and refusals."""

import asyncio
import sys
import threading
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent import futures
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import aiohttp
import brotli
from aiohttp.compression_utils import (
    BrotliDecompressor,
    DecompressionBaseHandler,
    TooManyMembersError,
    ZLibDecompressor,
    ZSTDDecompressor,
)
from multidict import CIMultiDictProxy

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError

from harness.cassettes.redacted_streams import RedactedStream
from harness.cassettes.redaction import Redactor
from harness.errors import GatewayError, ServiceError

if TYPE_CHECKING:
    from tenacity import RetryCallState


# The HTTP client that all trials of a run share towards real services.


def header_text(value: str) -> str:
    """A server's header as text that can be stored: aiohttp represents bytes that are not UTF-8 as lone surrogates.

    Such a header is decoded as Latin-1, as in earlier versions of HTTP.
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogateescape").decode("latin-1")
    return value


def clean_header(value: str, redactor: Redactor) -> str:
    """A server's header without known secrets, also if one is folded over lines: a space stays of each fold."""
    clean = redactor.text(header_text(value))
    unfolded = "".join(clean.split())
    return clean if redactor.text(unfolded) == unfolded else redactor.text(unfolded)


async def open_client() -> aiohttp.ClientSession:
    """An HTTP client without cookies, proxy and retries; the caller closes it."""
    client = aiohttp.ClientSession(
        # A connection reset by a server that is closing a kept-alive connection cannot be distinguished from a lost
        # call, and such a call would be scored as the tool's failure. A handshake for each call costs less.
        # Each trial's own socket limits how many requests it has under way: a limit here would be one for all trials.
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        headers={"User-Agent": "trial-harness", "Accept": "application/json", "Accept-Encoding": "gzip, deflate"},
        auto_decompress=False,  # it knows none of several encodings: see `DecodedBody`
        trust_env=False,
    )
    # By default aiohttp would repeat a GET, and also a PUT or a DELETE, when the connection is lost before the answer.
    # There is no other switch; aiohttp's own test client sets the same switch.
    client._retry_connection = False
    return client


# Retries live reads if the transport failed before any answer: no connection, no name resolution, a lost connection.
#
# Writes are never retried, because they may have taken effect; nor are timeouts, statuses or broken answers of the
# tool.

T = TypeVar("T")

_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0


class NoAnswer(Exception):
    """The transport failed before an answer started; `cause` describes the failure."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class RetriedCall:
    """Makes a call up to `1 + retries` times, and stores why it was retried."""

    def __init__(self, retries: int, within_s: float) -> None:
        """`within_s`: no retry begins later than this."""
        self._retries = retries
        self._within_s = within_s
        self.lost: list[str] = []
        """For each retry, how the previous call failed."""

    async def __call__(self, call: Callable[[], Awaitable[T]]) -> T:
        """Makes the call; raises the error of the last attempt, or the cause of its NoAnswer."""
        from tenacity import (  # a replayed run makes no such call
            AsyncRetrying,
            retry_if_exception_type,
            stop_after_attempt,
            stop_before_delay,
            wait_exponential,
            wait_random,
        )

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(NoAnswer),
            stop=stop_after_attempt(1 + self._retries) | stop_before_delay(self._within_s),
            wait=wait_exponential(multiplier=_FIRST_WAIT_S, max=_LONGEST_WAIT_S) + wait_random(0, _FIRST_WAIT_S),
            before_sleep=self._note_failure,
            reraise=True,
        )
        try:
            return await retrying(call)
        except NoAnswer as lost:
            raise lost.cause from None

    def _note_failure(self, state: "RetryCallState") -> None:
        error = None if state.outcome is None else state.outcome.exception()
        if isinstance(error, NoAnswer):
            self.lost.append(f"{type(error.cause).__name__}: {error.cause}")


async def begun(request: aiohttp.client._RequestContextManager) -> aiohttp.ClientResponse:
    """The response, once its head has arrived. Raises NoAnswer, or ClientResponseError for an answer that is
    not HTTP.
    """
    try:
        return await request
    except aiohttp.ClientResponseError:
        raise
    except (aiohttp.ClientError, ConnectionError) as error:
        raise NoAnswer(error) from None


class TooLarge(aiohttp.ClientPayloadError):
    """More than is passed on of one answer."""


LOST: Final = (TimeoutError, aiohttp.ClientError, ConnectionError)
"""How a request, or its answer, breaks off."""


def outcome_of(
    error: Exception, service: str | None, asked: str
) -> Literal["timeout", "reset", "unreachable", "oversized", "garbled"]:
    """What became of a request that was LOST. Raises ServiceError for a `service` of the environment that has ended or
    speaks no HTTP: the harness started it for the trial, so that it is no failure of the agent or of a tool.
    """
    match error:
        case TimeoutError():
            return "timeout"
        case aiohttp.ClientConnectorError():
            if service is not None:
                raise ServiceError(f"service {service!r} cannot be reached any more: {error}") from error
            return "unreachable"
        case aiohttp.ClientResponseError():
            if service is not None:
                said = f"service {service!r} answered {asked} with something that is not HTTP: {error.message}"
                raise ServiceError(said, remedy="correct the service") from error
            return "garbled"
        case TooLarge():
            return "oversized"
        case _:
            return "reset"


async def passed_on(
    content: "DecodedBody",
    stream: RedactedStream,
    give: Callable[[bytes], Awaitable[None]],
    came: Callable[[], None],
    most: int,
) -> None:
    """Passes a body on through the stream's window; `came` is called for each piece when it comes. Raises TooLarge."""
    now = asyncio.get_running_loop().time
    taken = 0
    while True:
        for clean in stream.release(now()):
            await give(clean)
        limit = asyncio.timeout_at(stream.due)
        try:
            async with limit:
                piece = await content.readany()
        except TimeoutError:
            if not limit.expired():
                raise
            continue
        if not piece:
            break
        came()
        taken += len(piece)
        if taken > most:
            raise TooLarge("the answer is too large")
        stream.feed(piece, now())
    for clean in stream.finish():
        await give(clean)


_LOOK_EVERY_S = 1.0


class LoopThread:
    """One event loop on one thread; `wait_for` can be called from any other."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    def start(self, stack: ExitStack) -> None:
        """Runs the loop until the stack is closed."""
        loop = asyncio.new_event_loop()
        stack.callback(loop.close)
        thread = threading.Thread(target=loop.run_forever, name="harness-gateway", daemon=True)
        thread.start()
        stack.callback(thread.join)
        stack.callback(loop.call_soon_threadsafe, loop.stop)
        self._loop = loop
        stack.callback(self._forget)

    def soon(self, call: Callable[[], object]) -> None:
        """Schedules the call on the thread before all later ones, without waiting. Raises GatewayError."""
        if self._loop is None:
            raise GatewayError("the gateway is not running")
        self._loop.call_soon_threadsafe(call)

    def wait_for(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the loop; raises GatewayError if the loop does not run, or is closed during it."""
        if self._loop is None:
            coroutine.close()
            raise GatewayError("the gateway is not running")
        waiting = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        while True:
            try:
                return waiting.result(timeout=_LOOK_EVERY_S)
            except futures.TimeoutError:
                if waiting.done():  # the coroutine's own error
                    raise
            if self._loop is None:
                raise GatewayError("the gateway was closed while a session still needed it")

    def _forget(self) -> None:
        self._loop = None


Work = Literal["large", "sandbox", "browser", "check", "user", "probe"]
_AT_ONCE: Final[Mapping[Work, int]] = {"sandbox": 8}
"""Threads for one kind of work of one trial, if more than one."""


class TrialThreads:
    """The threads of one trial: no work waits for that of another trial, nor for another kind of work.

    The default pool of an event loop, which `asyncio.to_thread` uses, is one for all trials: none of them may use it.
    """

    def __init__(self) -> None:
        self._pools: dict[Work, ThreadPoolExecutor] = {}

    def pool(self, kind: Work) -> Executor:
        """What is submitted is begun in this order."""
        if kind not in self._pools:
            self._pools[kind] = ThreadPoolExecutor(_AT_ONCE.get(kind, 1), f"harness-{kind}")
        return self._pools[kind]

    async def run(self, kind: Work, work: Callable[[], T]) -> T:
        """The result of the work, done in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.pool(kind), work)

    def close(self) -> None:
        """Gives up what has not begun; does not wait for the rest."""
        for pool in list(self._pools.values()):
            pool.shutdown(wait=False, cancel_futures=True)


# Encodings of bodies: in which of them a secret can be searched for.

_DECODERS: Final[Mapping[str, Callable[[bytes], DecompressionBaseHandler]]] = {
    "gzip": lambda _: ZLibDecompressor("gzip"),
    "x-gzip": lambda _: ZLibDecompressor("gzip"),
    # Some servers send it without the header of zlib, whose first byte names the method 8.
    "deflate": lambda begins: ZLibDecompressor("deflate", suppress_deflate_header=begins[0] & 0xF != 8),
    "br": lambda _: BrotliDecompressor(),
    "zstd": lambda _: ZSTDDecompressor(),
}
_MOST_ENCODINGS: Final = 4
_UNPACKED: Final = 256 * 1024
"""Bytes that are unpacked at once."""


def _encodings(headers: CIMultiDictProxy[str]) -> list[str]:
    """In the order in which they were applied."""
    told = (name.strip().lower() for line in headers.getall("content-encoding", []) for name in line.split(","))
    return [name for name in told if name not in {"", "identity"}]


def is_readable(headers: CIMultiDictProxy[str]) -> bool:
    """Whether the body has no encoding that is unknown here."""
    encodings = _encodings(headers)
    return len(encodings) <= _MOST_ENCODINGS and all(name in _DECODERS for name in encodings)


class DecodedBody:
    """The body of a readable answer without its encodings."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._content = response.content
        self._stages = [_Stage(name) for name in reversed(_encodings(response.headers))]
        self._pieces: Iterator[bytes] = iter(())

    async def readany(self) -> bytes:
        """The next piece; empty at the end. A call that is cancelled loses nothing.

        Raises aiohttp.ClientError, or ClientPayloadError for what is not in the encoding that was told.
        """
        if not self._stages:
            return await self._content.readany()
        while True:
            try:
                piece = next(self._pieces, b"")
            except (zlib.error, brotli.error, ZstdError, TooManyMembersError) as error:
                raise aiohttp.ClientPayloadError(f"the body cannot be decoded: {error}") from None
            if piece:
                await asyncio.sleep(0)  # a small body may unpack to much: others have their turn
                return piece
            packed = await self._content.readany()
            if not packed:
                if any(stage.is_cut for stage in self._stages):
                    raise aiohttp.ClientPayloadError("the body ends within its encoding")
                return b""
            self._pieces = iter((packed,))
            for stage in self._stages:
                self._pieces = stage.unpacked(self._pieces)


class _Stage:
    """One encoding, undone while pieces come."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._decoder: DecompressionBaseHandler | None = None
        self.is_cut = False
        """Whether the pieces so far end within the encoding."""

    def unpacked(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for piece in filter(None, pieces):
            self._decoder = decoder = self._decoder or _DECODERS[self._name](piece)
            yield self._step(decoder, piece)
            while decoder.data_available:
                yield self._step(decoder, b"")

    def _step(self, decoder: DecompressionBaseHandler, piece: bytes) -> bytes:
        inner = vars(decoder).get("_decompressor") or vars(decoder)["_obj"]  # aiohttp replaces one that has ended
        unpacked = decoder.decompress_sync(piece, max_length=_UNPACKED)
        has_ended = inner.is_finished() if isinstance(inner, brotli.Decompressor) else inner.eof
        self.is_cut = not has_ended and (self.is_cut or bool(piece))
        return unpacked


_LARGE: Final = 1024 * 1024
"""Bytes above which aiohttp warns of a body in one piece: an error in test suites whose warnings are errors."""


def sent_body(body: bytes | None) -> bytes | BytesIO | None:
    """What to pass as `data`; an empty body is none. A large one is new for each call, since sending reads it."""
    if not body:
        return None
    return BytesIO(body) if len(body) > _LARGE else body


class Refusal(Exception):
    """Ends a request with an error that does not belong to a call."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
