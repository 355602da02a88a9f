"""The seam between the gateway and whatever answers a request to a host."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from harness.upstream.tools.source import ToolAnswer
from harness.upstream.web.call import WebCall
from harness.values import JsonObject


class Sink(Protocol):
    """Receives an answer in pieces. Neither method raises where the agent has disconnected."""

    async def begin(self, status: int, headers: Mapping[str, str]) -> None: ...

    async def write(self, piece: bytes) -> None: ...


@dataclass(frozen=True, kw_only=True)
class WebMiss:
    """No recording answers the call."""

    message: str
    nearest: tuple[JsonObject, ...] = field(default=())


class WebSource(Protocol):
    """Answers the requests of one trial.

    A failed answer (`reset`, `timeout`, `oversized`) may have started: its status is then not 0, and its body holds the
    received part.
    """

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | WebMiss:
        """Never raises for what the host does, only HarnessError for what the harness could not."""
        ...
