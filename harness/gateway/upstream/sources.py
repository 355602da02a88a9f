"""The sources that answer a tool call, and whether external servers answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from harness.cassettes.keys import CallKey
from harness.errors import UpstreamUnavailable
from harness.suite.models import Provenance
from harness.suite.suites import Suite
from harness.suite.tool_sources import has_own_state
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import ReplayTier
from harness.values import JsonObject

Reached = Literal["live", "sealed"]
"""How a real service was reached."""


@dataclass(frozen=True, kw_only=True)
class ToolRequest:
    """A valid call of a known tool."""

    tool: ToolSpec
    arguments: JsonObject
    """The arguments, with the schema's defaults filled in."""
    key: CallKey
    probe: bool = False
    """Whether the harness itself makes the read."""


@dataclass(frozen=True, kw_only=True)
class ToolAnswer:
    """The answer of a tool. `unreachable` states that no connection could be made, so that the tool never received the
    call.
    """

    outcome: Literal["answer", "timeout", "reset", "unreachable", "oversized", "garbled"]
    tier: ReplayTier
    provenance: Provenance | None = None
    """The provenance in the recording, if the answer was replayed."""
    once_recorded: bool = False
    """See `Played.once_recorded`."""
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    fault: str | None = None
    """Kind of the fault that was injected into this answer."""
    retried: tuple[str, ...] = ()
    """How the transport failed before each retry (live reads only)."""
    pace_s: float = 0.0
    """The body is sent to the agent in pieces over this time."""


@dataclass(frozen=True, kw_only=True)
class ToolMiss:
    """No source answers the call; `nearest` describes the nearest recording."""

    message: str
    nearest: tuple[JsonObject, ...]


class TrialTools(Protocol):
    """Answers the calls of one trial."""

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        """Never raises for failures of the tool; raises HarnessError for failures of the harness."""
        ...


class RoutedSource:
    """`by_server` answers for its servers, `otherwise` for all others."""

    def __init__(self, by_server: Mapping[str, TrialTools], otherwise: TrialTools) -> None:
        self._by_server = by_server
        self._otherwise = otherwise

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        return await self._by_server.get(request.tool.server, self._otherwise).call(request)


# Records whether external servers answered, so that their outages are not counted as failures of the agent.
#
# A call of a live server, host or model without a connection, or with one that is lost before an answer, after all
# retries, ends the measurement of its trial: `UpstreamUnavailable`. A timeout is returned to the agent, because the
# tool itself may cause it.

_LOST: Final = {
    "unreachable": "no connection could be made",
    "reset": "the connection was lost before the answer",
}


def external_servers(suite: Suite) -> frozenset[str]:
    """The servers and hosts that run elsewhere: neither services of the environment nor started by a trial."""
    return frozenset(
        name
        for name, server in suite.reached.items()
        if server.service is None and not (server.is_program or server.sandbox or server.browser)
        if server.tool_source is None or not has_own_state(server.tool_source, suite.folder)
    )


class Reachability:
    """Which servers have answered in this run; shared by its trials, used on the gateway's own thread only.

    `server` is a name of the suite: of a server, `http:<host>` of a host, `model:<provider>` of a model.
    """

    def __init__(self) -> None:
        self._answered: set[str] = set()
        self._accepted: set[str] = set()

    def note(self, server: str, tool: str, answer: ToolAnswer) -> None:
        """Notes the result of a call. Raises UpstreamUnavailable for a connection that failed before any answer."""
        if answer.status == 0 and answer.outcome in _LOST:
            detail = f" ({answer.retried[-1]})" if answer.retried else ""
            raise self.lost(server, tool, _LOST[answer.outcome] + detail)
        if answer.status != 0:  # also an answer that broke off: the agent has received a part of it
            self.answered(server)

    def answered(self, server: str) -> None:
        """Notes that the server answered, with any status."""
        self._answered.add(server)

    def accepted(self, server: str) -> None:
        """Notes that the server served a request that carried the suite's key."""
        self._accepted.add(server)

    def accepts(self, server: str) -> bool:
        """Whether the suite's key is known to be valid, so that a refusal is about the request."""
        return server in self._accepted

    def lost(self, server: str, tool: str, reason: str = _LOST["reset"]) -> UpstreamUnavailable:
        """The error to raise for a connection that failed after all retries."""
        return UpstreamUnavailable(
            f"{tool}: the live server {server!r} is not available: {reason}",
            server=server,
            tool=tool,
            reason=reason,
            answered=server in self._answered,
            remedy="start it again and go on with `harness run --resume RUN`, or replay: --tools replay",
        )
