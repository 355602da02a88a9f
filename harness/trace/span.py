"""A finished span as it is stored: one JSON line, readable without OpenTelemetry."""

from harness.values import Frozen, JsonValue


class Span(Frozen):
    """Times in nanoseconds: `start_ns` and `end_ns` of the wall clock since the epoch."""

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str
    start_ns: int
    end_ns: int
    attributes: dict[str, JsonValue] = {}
    events: tuple[dict[str, JsonValue], ...] = ()
    status: str = "unset"
