"""The interface between the gateway and the sources that answer a request to a host."""

from collections.abc import Mapping
from typing import Protocol

from harness.upstream.tools.source import ToolAnswer, ToolMiss
from harness.upstream.web.call import WebCall


class Sink(Protocol):
    """Receives an answer in pieces. Neither method raises where the agent has disconnected."""

    async def begin(self, status: int, headers: Mapping[str, str]) -> None: ...

    async def write(self, piece: bytes) -> None: ...


class WebSource(Protocol):
    """Answers the requests of one trial.

    A failed answer (`reset`, `timeout`, `oversized`) may have started: its status is then not 0, and its body holds the
    received part.
    """

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | ToolMiss:
        """Never raises for failures of the host; raises HarnessError for failures of the harness."""
        ...
