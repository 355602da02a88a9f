"""The source that answers the tools of a suite in one trial: a cassette, or the real services, which may be
recorded.
"""

import asyncio
import hashlib
import json
from collections import Counter
from dataclasses import replace

import aiohttp

from harness.cassettes.redaction import Redactor, stand_in
from harness.cassettes.volatility import unfolded
from harness.errors import ServiceError
from harness.gateway.exchange import ReplaySource
from harness.gateway.trial import TrialContext
from harness.gateway.upstream.http_tools import HttpSource
from harness.gateway.upstream.sources import (
    ToolAnswer,
    ToolMiss,
    ToolRequest,
    TrialTools,
    external_servers,
)
from harness.suite.tools import values_at
from harness.traces.trial import Outage
from harness.values import object_of, with_texts

# Answers of servers outside of the run: a trial that met their outage is no measurement of the agent.

_LOST = {"unreachable": "no connection could be made", "reset": "the connection was lost before the answer"}
_FAILING = frozenset({429, 500, 502, 503, 504, *range(520, 531)})
_ASKED_AGAIN_AFTER_S = (0.0, 0.5, 1.5)
_OWN_REQUEST_TAKES_S = 10.0


class Outages:
    """Notes which external servers and hosts fail in one trial.

    An agent can bring about a failure by its arguments, so that one is the server's only if it also fails at a plain
    request of the harness for its address.
    """

    def __init__(self, trial: TrialContext) -> None:
        self._trial = trial
        self.external = external_servers(trial.suite)

    async def note(
        self, server: str, tool: str, answer: ToolAnswer, address: str | None = None, *, probe: bool = False
    ) -> None:
        """Notes a connection that failed before any answer, or a status of failure that the harness gets too."""
        outages, answered = self._trial.ledger.outages, self._trial.run.answered
        declared = self._trial.suite.servers.get(server)
        is_mcp = declared is not None and declared.mcp is not None  # its source has asked it anew already
        lost, failing = answer.status == 0 and answer.outcome in _LOST, answer.status in _FAILING and not is_mcp
        if lost or (failing and (server in outages or await self._is_down(server, address))):
            said = answer.body[:200].decode("utf-8", "replace")
            reason = " ".join((_LOST[answer.outcome], *answer.retried[-1:])) if lost else f"{answer.status} {said}"
            self.keep(server, tool, reason)
            return
        if not probe:  # a read of the harness after the agent's last call does not undo what that met
            outages.pop(server, None)
        if answer.status and not failing:  # also an answer that broke off: the agent has received a part of it
            answered.add(server)

    def keep(self, server: str, tool: str, reason: str) -> None:
        """Notes that the server failed, not by the agent's doing."""
        outage = Outage(
            server=server,
            tool=tool,
            reason=self._trial.redactor.text(reason).strip(),
            answered=server in self._trial.run.answered,
        )
        self._trial.ledger.outages.setdefault(server, outage)

    async def _is_down(self, server: str, address: str | None) -> bool:
        reached = self._trial.reached[server]
        for wait_s in _ASKED_AGAIN_AFTER_S:
            await asyncio.sleep(wait_s)
            try:
                async with (
                    asyncio.timeout(_OWN_REQUEST_TAKES_S),
                    self._trial.run.client.get(
                        address or reached.base_url, headers=reached.headers, allow_redirects=False
                    ) as response,
                ):
                    works = response.status // 100 < 5 or server in self._trial.run.answered
                    if response.status not in _FAILING and works:
                        return False
            except (TimeoutError, aiohttp.ClientError, ConnectionError):
                continue
        return True


class ExternalTools:
    """Passes calls on to `inner`, and notes outages of external servers."""

    def __init__(self, inner: TrialTools, outages: Outages) -> None:
        self._inner = inner
        self._outages = outages

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        server, tool = request.tool.server, request.tool.name
        if server not in self._outages.external:
            return await self._inner.call(request)
        try:
            answer = await self._inner.call(request)
        except ServiceError as error:  # an MCP server that could not be opened
            self._outages.keep(server, tool, error.message)
            return ToolAnswer(outcome="unreachable", tier="live")
        if isinstance(answer, ToolAnswer):
            await self._outages.note(server, tool, answer, probe=request.probe)
        return answer


def suite_tools(trial: TrialContext) -> TrialTools:
    """The source of the suite's tools but for those that act in the trial's own sandbox or browser."""
    player = trial.player("tool")
    if player is not None:
        return ReplaySource(player)
    from harness.gateway.recording import RecordingSource, ToolCodec  # a replayed trial does without the recorder
    from harness.gateway.upstream.tool_servers import Upstreams

    run = trial.run
    outside = Upstreams(trial.suite, run.client, run.limiter, run.secrets, trial.waits)
    live = outside.source(trial.reached, trial.tier, trial.closing, trial.wait_for)
    source = GeneratedIdSource(external_tools(trial, live), trial.redactor)
    recorder = trial.recording(ToolCodec())
    return source if recorder is None else RecordingSource(source, recorder)


def external_tools(trial: TrialContext, source: TrialTools) -> TrialTools:
    """Wraps `source`; its servers may be unavailable if the run did not start them."""
    if trial.tier == "sealed":
        return source
    return ExternalTools(source, Outages(trial))


def api_source(trial: TrialContext) -> TrialTools:
    """The source for the harness's own reads of APIs."""
    run = trial.run
    return external_tools(trial, HttpSource(run.client, trial.reached, run.limiter, trial.tier, trial.waits))


# Ids and cursors that a real tool generates in every run, bound to the call that returned them.
#
# The stored value is a placeholder that depends only on the call: a repeated recording is equal, and the agent sends
# the same argument in every run. The agent itself receives the real value, because the real tool must recognise it. A
# client that replays recorded data (the oracle a case's reference, a model its recorded answers) sends the placeholder
# instead; the tool receives the value of this run in its place.

_SHORTEST = 4
_SHORTEST_IN_TEXTS = 8
"""The shortest value that is replaced within a longer text; a shorter one is replaced only as a whole text."""


class GeneratedIdSource:
    """Registers with the redactor the values of an answer that the call generated; changes no answer.

    In arguments, the placeholder of such a value is replaced by the value itself.
    """

    def __init__(self, inner: TrialTools, redactor: Redactor) -> None:
        self._inner = inner
        self._redactor = redactor
        self._made: Counter[str] = Counter()
        self._values: dict[str, str] = {}
        """Maps a placeholder to the value of this run."""

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        answer = await self._inner.call(self._request_with_real_values(request))
        if request.tool.generated_ids and isinstance(answer, ToolAnswer) and answer.outcome == "answer":
            self._made[request.key.key] += 1
            self._bind(request, answer.body, self._made[request.key.key])
        return answer

    def _request_with_real_values(self, request: ToolRequest) -> ToolRequest:
        if not self._values:
            return request
        arguments = object_of(with_texts(request.arguments, self._with_real_values))
        return request if arguments == request.arguments else replace(request, arguments=arguments)

    def _with_real_values(self, text: str) -> str:
        for placeholder, real in self._values.items():
            text = text.replace(placeholder, real)  # 12 digits of a hash do not occur in a text by chance
        return text

    def _bind(self, request: ToolRequest, body: bytes, number: int) -> None:
        try:
            content = json.loads(body)
            inside = unfolded(content)
        except (ValueError, RecursionError):
            return
        for pointer in request.tool.generated_ids:
            plain = values_at(content, pointer)
            shortest = _SHORTEST if plain else _SHORTEST_IN_TEXTS
            for index, value in enumerate(plain or values_at(inside, pointer)):
                if isinstance(value, str) and len(value) >= shortest:
                    place = f"{request.key.key}\0{number}\0{pointer}\0{index}"
                    placeholder = stand_in(value, hashlib.sha256(place.encode()).hexdigest())
                    self._values[placeholder] = value
                    self._redactor.bind(value, placeholder)
