"""Passes an answer to the agent unchanged, in pieces, and stores its bytes."""

import asyncio
import time
from collections.abc import Mapping

from aiohttp import web

from harness.upstream import ModelAnswer

_NS_PER_MS = 1_000_000


class Delivery:
    """Writes an answer to the agent in pieces; a disconnect of the agent does not stop it."""

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self._response: web.StreamResponse | None = None
        self._began_ns = time.monotonic_ns()
        self._body = bytearray()
        self._chunks: list[tuple[int, int]] = []
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

    async def write(self, piece: bytes) -> None:
        """Passes a piece on immediately."""
        since_ms = (time.monotonic_ns() - self._began_ns) / _NS_PER_MS
        self.first_chunk_ms = since_ms if self.first_chunk_ms is None else self.first_chunk_ms
        self._body += piece
        self._chunks.append((round(since_ms), len(piece)))
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

    @property
    def chunks(self) -> tuple[tuple[int, int], ...]:
        return tuple(self._chunks)


async def deliver(request: web.BaseRequest, answer: ModelAnswer, *, paced: bool = False) -> web.StreamResponse:
    """Sends a whole answer; a stream is sent at once, or (`paced`) with its recorded delays."""
    if not answer.streamed and answer.outcome == "answer":
        return web.Response(status=answer.status, headers=answer.headers, body=answer.body)
    delivery = Delivery(request)
    await delivery.begin(answer.status, answer.headers)
    at, began = 0, time.monotonic()
    for offset_ms, length in answer.chunks[:-1] if paced else ():
        await asyncio.sleep(max(0.0, began + offset_ms / 1000 - time.monotonic()))
        await delivery.write(answer.body[at : at + length])
        at += length
    if paced and answer.chunks:
        await asyncio.sleep(max(0.0, began + answer.chunks[-1][0] / 1000 - time.monotonic()))
    if answer.body[at:]:
        await delivery.write(answer.body[at:])
    answer.first_chunk_ms = delivery.first_chunk_ms
    return await delivery.end() if answer.outcome == "answer" else delivery.cut()
