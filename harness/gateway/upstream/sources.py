"""The sources that answer a tool call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from harness.cassettes.keys import CallKey
from harness.suite.models import Provenance
from harness.suite.suites import Suite
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


Outcome = Literal["answer", "timeout", "reset", "unreachable", "oversized", "garbled"]


@dataclass(frozen=True, kw_only=True)
class ToolAnswer:
    """The answer of a tool. `unreachable` states that no connection could be made, so that the tool never received the
    call.
    """

    outcome: Outcome
    tier: ReplayTier
    provenance: Provenance | None = None
    """The provenance in the recording, if the answer was replayed."""
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    fault: str | None = None
    """Kind of the fault that was injected into this answer."""
    retried: tuple[str, ...] = ()
    """How the transport failed before each retry (live reads only)."""


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


def external_servers(suite: Suite) -> frozenset[str]:
    """The servers and hosts that run elsewhere: neither services of the environment nor started by a trial."""
    return frozenset(
        name
        for name, server in suite.reached.items()
        if server.service is None and not (server.is_program or server.sandbox or server.browser)
    )
