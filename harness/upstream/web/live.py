"""Real hosts, or their doubles: requests are sent over the network, and answers are passed on in pieces."""

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import aiohttp
from yarl import URL

from harness.cassette import RedactedEvents, RedactedStream, Redactor, redacted_stream
from harness.errors import ServiceError
from harness.upstream.coding import is_readable
from harness.upstream.pausing import with_pauses
from harness.upstream.rate import RateLimiter
from harness.upstream.retrying import RetriedCall, begun
from harness.upstream.sent_body import sent_body
from harness.upstream.tools.http import MAX_ANSWER_BYTES, ToolUpstream
from harness.upstream.tools.source import ToolAnswer
from harness.upstream.waiting import Waits
from harness.upstream.web.call import WebCall
from harness.upstream.web.headers import forwarded, is_part, passed_back
from harness.upstream.web.source import Sink


@dataclass(kw_only=True)
class _Received:
    """The part of an answer received so far."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)


class LiveWeb:
    """The hosts of a suite for one trial; known secrets in their answers stay in the gateway.

    Redirects are not followed: the agent decides whether to follow them.
    """

    def __init__(
        self,
        client: aiohttp.ClientSession,
        upstreams: Mapping[str, ToolUpstream],
        limiter: RateLimiter,
        tier: Literal["live", "sealed"],
        redactor: Redactor,
        waits: Waits = nullcontext,
    ) -> None:
        self._client = client
        self._upstreams = upstreams
        self._limiter = limiter
        self._tier: Literal["live", "sealed"] = tier
        self._redactor = redactor
        self._hides = redactor.search is not None
        self._waits = waits

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer:
        """Raises ServiceError where a service of the environment has ended."""
        with self._waits() if call.host.service is None else nullcontext():
            return await self._tried(call, sink)

    async def _tried(self, call: WebCall, sink: Sink) -> ToolAnswer:
        if self._tier == "live":
            await self._limiter.wait_for(call.host.tool, call.host.rate_limit)
        upstream = self._upstreams[call.host.tool]
        again = upstream.retries if self._tier == "live" and call.key.effect == "read" else 0
        tries = RetriedCall(again, call.host.timeout_s)
        answer = await self._answered(call, sink, tries)
        return replace(answer, retried=tuple(tries.lost)) if tries.lost else answer

    async def _answered(self, call: WebCall, sink: Sink, tries: RetriedCall) -> ToolAnswer:
        come = _Received()
        passage = _BodyStream(come, sink, RedactedStream(self._redactor))
        try:
            return await self._passed(call, come, passage, tries)
        except TimeoutError:
            return self._answer("timeout", come)
        except aiohttp.ClientConnectorError as error:
            if call.host.service is not None:
                raise ServiceError(f"service {call.host.service!r} cannot be reached any more: {error}") from error
            return self._answer("unreachable", come)
        except aiohttp.ClientResponseError as error:
            if call.host.service is not None:
                said = f"service {call.host.service!r} answered something that is not HTTP: {error.message}"
                raise ServiceError(said, remedy="correct the service") from error
            return self._answer("garbled", come)
        except (aiohttp.ClientError, ConnectionError):
            return self._answer("reset", come)

    async def _begun(self, call: WebCall, tries: RetriedCall) -> aiohttp.ClientResponse:
        if tries.lost:
            await self._limiter.wait_for(call.host.tool, call.host.rate_limit)
        return await begun(self._ask(call))

    async def _passed(self, call: WebCall, come: _Received, passage: "_BodyStream", tries: RetriedCall) -> ToolAnswer:
        loop, host = asyncio.get_running_loop(), call.host
        async with asyncio.timeout(host.timeout_s) as limit, await tries(partial(self._begun, call, tries)) as response:
            headers = response.headers
            if not is_readable(headers) or (self._hides and is_part(response.status, headers)):
                return self._answer("garbled", come)
            come.headers = passed_back(
                headers,
                decoded="content-encoding" in headers,
                redactor=self._redactor,
                bodiless=call.method == "HEAD",
            )
            if (response.content_length or 0) > MAX_ANSWER_BYTES and call.method != "HEAD":
                return self._answer("oversized", _Received())
            come.status = response.status
            passage.redacted = redacted_stream(self._redactor, headers.get("content-type", ""))
            await passage.sink.begin(response.status, come.headers)
            async for piece in with_pauses(response.content, lambda: passage.redacted.waits):
                await passage.take(piece)
                if piece is None:
                    continue
                if passage.taken > MAX_ANSWER_BYTES:
                    return self._answer("oversized", come)
                limit.reschedule(loop.time() + host.timeout_s)
            await passage.finish()
        return self._answer("answer", come)

    def _ask(self, call: WebCall) -> aiohttp.client._RequestContextManager:
        upstream = self._upstreams[call.host.tool]
        redirected = call.host.upstream is not None or call.host.service is not None
        base = upstream.base_url.rstrip("/") if redirected else call.address.place.origin
        return self._client.request(
            call.method,
            URL(base + call.address.target, encoded=True),
            data=sent_body(call.body),
            headers=forwarded(call.headers, upstream.headers, whole=self._hides),
            allow_redirects=False,
            skip_auto_headers=("Content-Type", "User-Agent"),
        )

    def _answer(
        self, outcome: Literal["answer", "timeout", "reset", "unreachable", "oversized", "garbled"], come: _Received
    ) -> ToolAnswer:
        return ToolAnswer(
            outcome=outcome, tier=self._tier, status=come.status, headers=come.headers, body=bytes(come.body)
        )


@dataclass
class _BodyStream:
    """Streams one answer's body to the agent."""

    come: _Received
    sink: Sink
    redacted: RedactedStream | RedactedEvents
    taken: int = 0

    async def take(self, piece: bytes | None) -> None:
        """Passes on a piece, or what waits where there is a pause (None)."""
        self.taken += len(piece or b"")
        await self._pass(self.redacted.release() if piece is None else self.redacted.feed(piece))

    async def finish(self) -> None:
        """Returns the buffered bytes. Where the host disconnects they are dropped, because they may be the beginning of
        a secret.
        """
        await self._pass(self.redacted.finish())

    async def _pass(self, clean: bytes) -> None:
        self.come.body += clean
        if clean:
            await self.sink.write(clean)
