"""What every route of a session needs: the body of a request, a rejection in JSON, and the interface of further route
handlers.
"""

import asyncio
import json
from typing import Protocol

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from harness.gateway.exchange.large_work import LargeWork
from harness.gateway.intake import BODIES_MAX_BYTES, BODY, VALUES_MAX
from harness.strict_json import MAX_VALUES, values_in
from harness.upstream import Refusal

MAX_BODY_BYTES = 1024 * 1024
_BODY_TIMEOUT_S = 10.0


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


def check_head(request: web.BaseRequest) -> None:
    """Raises Refusal for headers with bytes that are not UTF-8, because they could be passed on but not stored."""
    for name, value in request.headers.items():
        if name.isascii() and value.isascii():
            continue
        try:
            f"{name}{value}".encode()
        except UnicodeEncodeError:
            shown = name.encode("ascii", "backslashreplace").decode()[:100]
            raise Refusal(400, "bad_request", f"the header {shown} holds bytes that are not UTF-8") from None


async def read_body(request: web.BaseRequest, most: int = MAX_BODY_BYTES) -> bytes:
    """The whole body. Raises Refusal for one that is larger than `most`, one too many, too slow, or broken."""
    if (request.content_length or 0) > most:
        raise _too_large(most)
    try:
        return await _read(request, most)
    except TimeoutError:
        raise Refusal(408, "bad_request", f"the body did not arrive within {_BODY_TIMEOUT_S:g} s") from None
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise Refusal(400, "bad_request", f"the body cannot be read: {error}") from None


async def read_json(request: web.BaseRequest, large: LargeWork, most: int = MAX_BODY_BYTES) -> bytes:
    """Like `read_body`, for a body that is read as JSON; raises Refusal also where the trial's requests hold too many
    values.
    """
    raw = await read_body(request, most)
    count = await large.done(len(raw), lambda: values_in(raw))
    # One that has too many by itself is refused before it is read into values.
    if count <= MAX_VALUES and not request[BODY].admits_values(count):
        limit = f"the requests that are not answered yet hold {VALUES_MAX} objects, lists and commas"
        raise Refusal(503, "too_much_at_once", f"{limit}; wait for their answers")
    return raw


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
