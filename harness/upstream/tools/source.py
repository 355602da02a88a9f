"""The interface between the gateway and the sources that answer a call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from harness.case import Provenance, ToolSpec
from harness.cassette import CallKey
from harness.trace import ReplayTier
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
    """The provenance in the recording, where the answer was replayed."""
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
