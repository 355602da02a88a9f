"""Sends recorded reads to the real tools again, within their rate limits, without an agent."""

import secrets as tokens
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import aiohttp

from harness.case import RateLimit, Suite
from harness.cassette import KEPT_HEADERS, SECRET_HEADERS, Recording, Redactor
from harness.drift.replayable_reads import ReplayableRead
from harness.errors import ServiceError
from harness.upstream import (
    LiveWeb,
    LoopThread,
    RateLimiter,
    ToolAnswer,
    ToolMiss,
    ToolRequest,
    ToolUpstream,
    TrialTools,
    Upstreams,
    open_client,
    reset_servers,
    upstreams,
)


@dataclass(frozen=True, kw_only=True)
class ProbeReply:
    """The answer as a recording without secrets, or the reason why there is none."""

    recording: Recording | None
    body: bytes = b""
    """The unchanged body, which may contain secrets: never stored."""
    unavailable: str | None = None
    took_ms: float = 0.0


class Prober:
    """Sends requests to the tools of one suite; created by `open_prober`."""

    def __init__(
        self,
        suite: Suite,
        tools: TrialTools,
        web: LiveWeb,
        redactor: Redactor,
        per_s: int,
        resetting: Callable[[Iterable[str]], Awaitable[None]],
    ) -> None:
        self._suite = suite
        self._tools = tools
        self._web = web
        self._redactor = redactor
        self._limiter = RateLimiter()
        self._polite = RateLimit(calls=per_s, per_s=1.0)
        self._dead: dict[str, str] = {}
        self.reset = resetting
        """Brings the named live servers back to their known state. Raises ServiceError."""

    async def send(self, ask: ReplayableRead) -> ProbeReply:
        """Sends the request once. A server that could not be started is not tried again."""
        call, mark = ask.call, ask.recording.mark
        assert call is not None  # the caller has checked it
        if mark.server in self._dead:
            return ProbeReply(recording=None, unavailable=self._dead[mark.server])
        await self._wait(call, mark.server)
        began = time.monotonic()
        try:
            if isinstance(call, ToolRequest):
                answer = await self._tools.call(call)
            else:
                answer = await self._web.answer(call, _Nowhere())
        except ServiceError as error:
            self._dead[mark.server] = self._redactor.everywhere(error.message)
            return ProbeReply(recording=None, unavailable=self._dead[mark.server])
        assert not isinstance(answer, ToolMiss)  # nothing is replayed here
        return self._reply(ask, answer, (time.monotonic() - began) * 1000)

    async def _wait(self, call: ToolRequest | object, server: str) -> None:
        where = self._suite.reached.get(server)
        if where is not None and where.service is None and not where.is_program:
            await self._limiter.wait_for(f"server {server}", self._polite)
        name, limit = self._declared(server, call)
        await self._limiter.wait_for(name, limit)

    def _declared(self, server: str, call: ToolRequest | object) -> tuple[str, RateLimit | None]:
        if isinstance(call, ToolRequest):
            declared = next((tool for tool in self._suite.tools if tool.name == call.tool.name), None)
            return call.tool.name, None if declared is None else declared.rate_limit
        host = next((host for host in self._suite.hosts if host.tool == server), None)
        return server, None if host is None else host.rate_limit

    def _reply(self, ask: ReplayableRead, answer: ToolAnswer, took_ms: float) -> ProbeReply:
        if answer.outcome in {"unreachable", "garbled", "oversized"}:
            return ProbeReply(recording=None, unavailable=_WORDS[answer.outcome], took_ms=took_ms)
        mark = ask.recording.mark
        clean, web = self._redactor, mark.kind == "http"
        compared = self._suite.header_rules(mark.tool)
        provenance = self._suite.doubles.provenance(mark.kind, mark.server, ask.recording.arguments)
        kept = {
            name: clean.text(value)
            for name, value in answer.headers.items()
            if name not in SECRET_HEADERS and (web or name in KEPT_HEADERS or name in compared)
        }
        recording = Recording(
            mark=mark.model_copy(update={"outcome": answer.outcome, "chunks": (), "provenance": provenance}),
            arguments=ask.recording.arguments,
            status=answer.status or 504,
            headers=kept,
            body=clean.body(answer.body),
        )
        return ProbeReply(recording=recording, body=answer.body, took_ms=took_ms)


_WORDS = {
    "unreachable": "cannot be reached",
    "garbled": "answered something that is not its protocol",
    "oversized": "answered more than is read",
}


class _Nowhere:
    """A sink that discards the answer."""

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Does nothing, because no client waits for the response."""

    async def write(self, piece: bytes) -> None:
        """Does nothing, because the source keeps the whole body itself."""


@contextmanager
def open_prober(
    suite: Suite, services: Mapping[str, str], secrets: Mapping[str, str], per_s: int
) -> Iterator[tuple[Prober, LoopThread]]:
    """A prober and the thread that its calls run on. `per_s`: the maximum of calls per second to external servers.

    Raises UsageError for a secret that is not set, ServiceError for a service that was not started.
    """
    with ExitStack() as stack:
        thread = LoopThread()
        thread.start(stack)
        client: aiohttp.ClientSession = thread.wait_for(open_client())
        stack.callback(lambda: thread.wait_for(client.close()))
        reached: Mapping[str, ToolUpstream] = upstreams(suite, services, secrets, f"drift.{tokens.token_hex(4)}")
        limiter = RateLimiter()
        outside = Upstreams(suite=suite, client=client, limiter=limiter, secrets=secrets)
        tools = outside.source(reached, "live", stack, thread.wait_for)
        web = LiveWeb(client, reached, limiter, "live", Redactor(secrets))
        resetting = partial(reset_servers, suite, reached, client)
        yield Prober(suite, tools, web, Redactor(secrets), per_s, resetting), thread
