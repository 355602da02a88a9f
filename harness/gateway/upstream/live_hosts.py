"""Real hosts, or their doubles: requests are sent over the network, and answers are passed on in pieces."""

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from harness.cassettes.redacted_streams import RedactedStream, stream_of
from harness.cassettes.redaction import Redactor
from harness.gateway.budgets import RateLimiter, Waits
from harness.gateway.upstream.host_calls import Sink, WebCall
from harness.gateway.upstream.http_tools import MAX_ANSWER_BYTES, ToolUpstream
from harness.gateway.upstream.request_parts import NOT_FORWARDED, OF_A_CONNECTION, named_by_connection
from harness.gateway.upstream.sources import Outcome, ToolAnswer
from harness.gateway.upstream.transport import (
    LOST,
    DecodedBody,
    RetriedCall,
    TooLarge,
    begun,
    clean_header,
    is_readable,
    outcome_of,
    passed_on,
    sent_body,
)

_OF_A_PART = frozenset({"if-range", "range", "request-range"})
"""They could be used to fetch a secret in pieces. A complete answer is a valid answer to a range request, too."""
_NOT_PASSED_BACK = OF_A_CONNECTION | {
    "age",
    "alt-svc",  # would lead the client past the proxy
    "cf-ray",
    "content-encoding",
    "date",
    "expires",
    "nel",
    "report-to",
    "server",
    "server-timing",
    "strict-transport-security",  # has no effect after the trial, and prevents plain HTTP in it
    "via",
    "x-request-id",
    "x-runtime",
}
"""The headers are the same in every mode, so that a replayed answer has the headers of the recorded one."""
_OF_THE_BYTES = frozenset(
    {"accept-ranges", "content-digest", "content-length", "content-md5", "digest", "repr-digest", "want-content-digest"}
)
"""Headers that are valid only for a body from which no secret was removed."""


def forwarded(headers: Mapping[str, str], more: Mapping[str, str], *, whole: bool) -> CIMultiDict[str]:
    """The headers for a host: the agent's, overridden by the gateway's. `whole` removes requests for a part."""
    left_out = NOT_FORWARDED | (_OF_A_PART if whole else frozenset())
    named = named_by_connection(headers)
    passed = CIMultiDict[str]()
    for name, value in headers.items():
        if name.lower() not in left_out | named:
            passed.add(name, value)
    for name, value in more.items():
        passed[name] = value
    passed.setdefault("Accept", "*/*")
    passed["Accept-Encoding"] = "identity"
    return passed


def is_part(status: int, headers: Mapping[str, str]) -> bool:
    """Whether the body is a part of the resource."""
    kind = headers.get("content-type", "").lower()
    return status == 206 or "content-range" in headers or kind.startswith("multipart/byteranges")


def passed_back(
    headers: CIMultiDict[str] | Mapping[str, str], *, decoded: bool, redactor: Redactor, bodiless: bool = False
) -> CIMultiDict[str]:
    """The headers for the agent, in lower case, without known secrets. `decoded` states that the length has changed.

    Headers of the same name are joined into one line, except for cookies, each of which is a header of its own.
    `bodiless` marks the answer to HEAD, whose length does not describe a sent body.
    """
    named = named_by_connection(headers)
    dropped = set() if bodiless or redactor.search is None else _OF_THE_BYTES
    back = CIMultiDict[str]()
    for name, value in headers.items():
        low = name.lower()
        if low in _NOT_PASSED_BACK | named | dropped or (decoded and low == "content-length"):
            continue
        if redactor.text(name) != name or redactor.text(low) != low:
            continue
        clean = clean_header(value, redactor)
        if low == "set-cookie":
            back.add(low, clean)
        else:
            back[low] = f"{back[low]}, {clean}" if low in back else clean
    return back


@dataclass(kw_only=True)
class _Received:
    """The part of an answer that was received and passed on so far."""

    sink: Sink
    stream: RedactedStream | None = None
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)

    async def give(self, clean: bytes) -> None:
        self.body += clean
        await self.sink.write(clean)


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
        """Raises ServiceError if a service of the environment has ended."""
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
        come = _Received(sink=sink)
        try:
            return await self._passed(call, come, tries)
        except LOST as error:
            outcome = outcome_of(error, call.host.service, call.host.host)
        for clean in () if come.stream is None else come.stream.finish(broken=True):
            await come.give(clean)
        return self._tool_answer(outcome, come)

    async def _begun(self, call: WebCall, tries: RetriedCall) -> aiohttp.ClientResponse:
        if tries.lost:
            await self._limiter.wait_for(call.host.tool, call.host.rate_limit)
        return await begun(self._ask(call))

    async def _passed(self, call: WebCall, come: _Received, tries: RetriedCall) -> ToolAnswer:
        loop, host = asyncio.get_running_loop(), call.host
        async with asyncio.timeout(host.timeout_s) as limit, await tries(partial(self._begun, call, tries)) as response:
            headers = response.headers
            if not is_readable(headers) or (self._hides and is_part(response.status, headers)):
                return self._tool_answer("garbled", come)
            if (response.content_length or 0) > MAX_ANSWER_BYTES and call.method != "HEAD":
                raise TooLarge
            come.headers = passed_back(
                headers,
                decoded="content-encoding" in headers,
                redactor=self._redactor,
                bodiless=call.method == "HEAD",
            )
            come.status = response.status
            come.stream = stream_of(headers, self._redactor)
            await come.sink.begin(response.status, come.headers)
            await passed_on(
                DecodedBody(response),
                come.stream,
                come.give,
                lambda: limit.reschedule(loop.time() + host.timeout_s),
                MAX_ANSWER_BYTES,
            )
        return self._tool_answer("answer", come)

    def _ask(self, call: WebCall) -> aiohttp.client._RequestContextManager:
        upstream = self._upstreams[call.host.tool]
        redirected = call.host.base_url is not None or call.host.service is not None
        base = upstream.base_url.rstrip("/") if redirected else call.address.place.origin
        return self._client.request(
            call.method,
            URL(base + call.address.target, encoded=True),
            data=sent_body(call.body),
            headers=forwarded(call.headers, upstream.headers, whole=self._hides),
            allow_redirects=False,
            skip_auto_headers=("Content-Type", "User-Agent"),
        )

    def _tool_answer(self, outcome: Outcome, come: _Received) -> ToolAnswer:
        return ToolAnswer(
            outcome=outcome, tier=self._tier, status=come.status, headers=come.headers, body=bytes(come.body)
        )
