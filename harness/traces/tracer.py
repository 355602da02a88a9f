"""Spans in the form in which OpenTelemetry's processors and exporters take them."""

import json
from collections.abc import Mapping, Sequence

from opentelemetry import trace as otel
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.util.types import AttributeValue
from pydantic import JsonValue

from harness import __version__
from harness.plugins import DISTRIBUTION
from harness.traces import names
from harness.traces.spans import Span
from harness.values import JsonObject

_SCOPE = InstrumentationScope("harness", __version__)
_SCOPE_OF_AGENTS = InstrumentationScope("agent")
_SAMPLED = otel.TraceFlags(otel.TraceFlags.SAMPLED)
_STATUS = {"ok": otel.StatusCode.OK, "error": otel.StatusCode.ERROR}


class Tracing:
    """The processors that receive every span when it ends. One instance serves all trials of a run.

    `resource` holds the attributes of exported spans in addition to the name and the version of this program; it is not
    stored. A trial is scored by its spans, so they are made without a tracer of OpenTelemetry, whose sampler, limits
    and ids the environment sets.
    """

    def __init__(self, resource: Mapping[str, str] | None = None, processors: Sequence[SpanProcessor] = ()) -> None:
        self._processors = tuple(processors)
        own = {"service.name": DISTRIBUTION, "service.version": __version__}
        self._resource = Resource({**own, **(resource or {})})
        self.is_exported = bool(processors)

    def pass_on(self, span: Span) -> None:
        """Passes a span that has ended to the processors."""
        sent = exported_span(span, self._resource) if self.is_exported else None
        if sent is not None:
            for processor in self._processors:
                processor.on_end(sent)


# An agent's spans are untrusted data: an id that OTLP cannot encode, a number above 64 bits or half a surrogate pair
# must not prevent the export of the other spans in the same request.


def exported_span(span: Span, resource: Resource) -> ReadableSpan | None:
    """The span with all the data that protobuf can encode; None: its ids are invalid in OTLP, which requires 16
    hexadecimal digits that are not all zero.
    """
    context, parent = _context(span.trace_id, span.span_id), _context(span.trace_id, span.parent_id or "")
    if context is None:
        return None
    asks_model = span.attributes.get(names.STEP_KIND) == names.MODEL
    return ReadableSpan(
        _encodable_text(span.name),
        context=context,
        parent=parent,
        resource=resource,
        attributes=_attributes(span.attributes),
        events=[_event(event) for event in span.events],
        kind=otel.SpanKind.CLIENT if asks_model else otel.SpanKind.INTERNAL,
        status=otel.Status(_STATUS.get(span.status, otel.StatusCode.UNSET)),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=_SCOPE_OF_AGENTS if names.ORIGIN in span.attributes else _SCOPE,
    )


def is_reported(span: ReadableSpan) -> bool:
    """Whether the span is the agent's own."""
    return names.ORIGIN in (span.attributes or {})


def size_of(span: ReadableSpan) -> int:
    """The approximate size of the sent span in bytes."""
    held = (span.attributes or {}).values()
    events = sum(200 + sum(map(_size, (event.attributes or {}).values())) for event in span.events)
    return 200 + events + sum(map(_size, held))


def _context(trace_id: str, span_id: str) -> otel.SpanContext | None:
    if len(span_id) != 16 or int(span_id, 16) == 0:
        return None
    return otel.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=_SAMPLED)


def _event(event: JsonObject) -> Event:
    attributes, time_ns = event.get("attributes"), event.get("time_ns")
    at = time_ns if isinstance(time_ns, int) and 0 <= time_ns < 1 << 64 else 0
    held = _attributes(attributes if isinstance(attributes, dict) else {})
    return Event(_encodable_text(str(event.get("name") or "")), held, at)


def _attributes(attributes: JsonObject) -> dict[str, AttributeValue]:
    return {_encodable_text(name): _encodable(value) for name, value in attributes.items() if value is not None}


def _encodable(value: JsonValue) -> AttributeValue:
    """Lists and objects as JSON text, and whole numbers of more than 64 bits as text."""
    match value:
        case bool() | float():
            return value
        case int() if -(1 << 63) <= value < 1 << 63:
            return value
        case int() | str():
            return _encodable_text(str(value))
        case _:
            return _encodable_text(json.dumps(value, ensure_ascii=False))


def _encodable_text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _size(value: AttributeValue) -> int:
    return 50 + (len(value) if isinstance(value, str) else 0)
