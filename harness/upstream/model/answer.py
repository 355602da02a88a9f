"""The answer of a model endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.cassette import Outcome
from harness.upstream.model.wire.events import Framing, events_in
from harness.values import JsonObject


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
    is_array: bool = False
    """Whether the endpoint streams a JSON array, which no header says."""

    @property
    def framing(self) -> Framing | None:
        """How the answer is streamed; None: it is not streamed."""
        content_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if self.is_array and self.status // 100 == 2:
            return "array"
        return "sse" if content_type == "text/event-stream" else None

    @property
    def streamed(self) -> bool:
        return self.framing is not None

    @property
    def events(self) -> list[JsonObject]:
        """The events of a streamed answer."""
        return [] if self.framing is None else events_in(self.body, self.framing)
