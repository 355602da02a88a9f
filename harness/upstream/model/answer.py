"""The answer of a model endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.cassette import Outcome

EVENT_STREAM = "text/event-stream"


@dataclass(kw_only=True)
class ModelAnswer:
    """The answer that the agent received."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    chunks: tuple[tuple[int, int], ...] = ()
    """Milliseconds since the call, and length, of each piece of a stream."""
    first_chunk_ms: float | None = None
    outcome: Outcome = "answer"

    @property
    def streamed(self) -> bool:
        return self.headers.get("content-type", "").startswith(EVENT_STREAM)
