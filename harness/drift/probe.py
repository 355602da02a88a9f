"""Sends recorded reads to the real tools again, within their limits, and repeats those whose answers differ."""

import secrets as tokens
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import aiohttp

from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import KEPT_HEADERS, SECRET_HEADERS, Redactor
from harness.drift.answers import answer_of, why_not_comparable
from harness.drift.observations import ALONE, CallObservations, OperationIndex
from harness.drift.replayable import ReplayableRead
from harness.errors import ServiceError
from harness.gateway.budgets import RateLimiter
from harness.gateway.upstream.http_tools import ToolUpstream, reset_servers
from harness.gateway.upstream.live_hosts import LiveWeb
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss, ToolRequest, TrialTools
from harness.gateway.upstream.tool_servers import Upstreams, upstreams
from harness.gateway.upstream.transport import LoopThread, open_client
from harness.suite.suites import Suite
from harness.suite.tools import Rate


@dataclass(frozen=True, kw_only=True)
class ProbeReply:
    """The answer as a recording without secrets, or the reason why there is none."""

    recording: Recording | None
    body: bytes = b""
    """The unchanged body, which may contain secrets: never stored."""
    unavailable: str | None = None


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
        self._polite = f"{per_s}/s"
        self._dead: dict[str, str] = {}
        self._resetting = resetting

    async def send(self, ask: ReplayableRead) -> ProbeReply:
        """Sends the request once. A server that could not be started is not tried again."""
        call, mark = ask.call, ask.recording.mark
        assert call is not None  # the caller has checked it
        if mark.server in self._dead:
            return ProbeReply(recording=None, unavailable=self._dead[mark.server])
        await self._wait(call, mark.server)
        try:
            if isinstance(call, ToolRequest):
                answer = await self._tools.call(call)
            else:
                answer = await self._web.answer(call, _Nowhere())
        except ServiceError as error:
            self._dead[mark.server] = self._redactor.everywhere(error.message)
            return ProbeReply(recording=None, unavailable=self._dead[mark.server])
        assert not isinstance(answer, ToolMiss)  # nothing is replayed here
        return self._reply(ask, answer)

    async def reset(self, servers: Iterable[str]) -> str | None:
        """Brings live servers back to their known state. Returns the reason why that failed, or None."""
        try:
            await self._resetting(servers)
        except ServiceError as error:
            return self._redactor.everywhere(error.message)
        return None

    async def _wait(self, call: ToolRequest | object, server: str) -> None:
        where = self._suite.reached.get(server)
        if where is not None and where.service is None and not where.is_program:
            await self._limiter.wait_for(f"server {server}", self._polite)
        name, limit = self._server_and_limit(server, call)
        await self._limiter.wait_for(name, limit)

    def _server_and_limit(self, server: str, call: ToolRequest | object) -> tuple[str, Rate | None]:
        if isinstance(call, ToolRequest):
            declared = next((tool for tool in self._suite.tools if tool.name == call.tool.name), None)
            return call.tool.name, None if declared is None else declared.rate_limit
        host = next((host for host in self._suite.hosts if host.tool == server), None)
        return server, None if host is None else host.rate_limit

    def _reply(self, ask: ReplayableRead, answer: ToolAnswer) -> ProbeReply:
        if answer.outcome in {"unreachable", "garbled", "oversized"}:
            return ProbeReply(recording=None, unavailable=_WORDS[answer.outcome])
        mark = ask.recording.mark
        clean, web = self._redactor, mark.kind == "http"
        provenance = self._suite.doubles.provenance(mark.kind, mark.server, ask.recording.arguments) or "service"
        kept = {
            name: clean.text(value)
            for name, value in answer.headers.items()
            if name not in SECRET_HEADERS and (web or name in KEPT_HEADERS)
        }
        recording = Recording(
            mark=mark.model_copy(update={"outcome": answer.outcome, "provenance": provenance}),
            arguments=ask.recording.arguments,
            status=answer.status or 504,
            headers=kept,
            body=clean.body(answer.body),
        )
        return ProbeReply(recording=recording, body=answer.body)


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


@dataclass(frozen=True, kw_only=True)
class Probed:
    """The result of a probe."""

    observations: tuple[CallObservations, ...]
    recordings: tuple[Recording, ...]
    """The first live answer to each read, in the form of a cassette."""
    not_asked: Mapping[str, int]
    """Why recorded reads could not be sent again -> their number."""
    problems: tuple[str, ...] = ()
    """Describes servers that could not be reset after the probe had written to them."""
    restores: int = 0
    """The number of resets and restores for reads after writes."""

    def with_more(self, other: "Probed") -> "Probed":
        """Both results combined."""
        reasons = {*self.not_asked, *other.not_asked}
        return Probed(
            observations=(*self.observations, *other.observations),
            recordings=(*self.recordings, *other.recordings),
            not_asked={why: self.not_asked.get(why, 0) + other.not_asked.get(why, 0) for why in sorted(reasons)},
            problems=(*self.problems, *other.problems),
            restores=self.restores + other.restores,
        )


class Sender(Protocol):
    """Sends recorded calls to the real tools."""

    async def send(self, ask: ReplayableRead) -> ProbeReply: ...


async def probe(
    prober: Sender, asks: Iterable[ReplayableRead], operations: OperationIndex, *, samples: int = 1
) -> Probed:
    """Sends each read `samples` times, and a read with a changed answer as often as certainty requires."""
    observations: list[CallObservations] = []
    recordings: list[Recording] = []
    not_asked: dict[str, int] = {}
    for ask in asks:
        if ask.why_not is not None:
            not_asked[ask.why_not] = not_asked.get(ask.why_not, 0) + 1
            continue
        observation = CallObservations(recorded=ask.recording, cases=set(ask.cases))
        first = await repeat_request(prober, ask, observation, operations, samples)
        await confirm(prober, ask, observation, operations)
        observations.append(observation)
        if first is not None:
            recordings.append(first)
    return Probed(observations=tuple(observations), recordings=tuple(recordings), not_asked=not_asked)


async def confirm(
    prober: Sender, ask: ReplayableRead, observation: CallObservations, operations: OperationIndex
) -> None:
    """Repeats a request whose answer has changed, often enough to confirm it."""
    if observation.has_changes and len(observation.compared) < ALONE:
        await repeat_request(prober, ask, observation, operations, ALONE - len(observation.compared))


async def repeat_request(
    prober: Sender, ask: ReplayableRead, observation: CallObservations, operations: OperationIndex, times: int
) -> Recording | None:
    """Repeats a request and returns the first of the new answers. A tool that does not answer is not called again."""
    first: Recording | None = None
    for _ in range(times):
        reply: ProbeReply = await prober.send(ask)
        if reply.recording is None:
            observation.unavailable.append(reply.unavailable or "gave no answer")
            break
        recorded = _recording_for(ask, reply.recording)
        if why_not_comparable(answer_of(reply.recording), answer_of(recorded)) is None:
            first = first or reply.recording
        observation.add(operations, recorded, reply.recording)
        if observation.unavailable:
            break
    return first


def _recording_for(ask: ReplayableRead, live: Recording) -> Recording:
    """One of several cassettes' answers to a call, preferably with the live answer's status."""
    alike = (one for one in ask.recordings.values() if one.status == live.status)
    return next(alike, ask.recording)
