"""Spans in a form that OTLP can encode, including the agent's own.

An agent's spans are untrusted data: an id that OTLP cannot encode, a number above 64 bits or half a surrogate pair must
not prevent the export of the other spans in the same request.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType

from opentelemetry import trace as otel
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.util.types import AttributeValue

from harness.trace import names
from harness.trace.span import Span
from harness.values import JsonObject

_SCOPE = InstrumentationScope("agent")
_SAMPLED = otel.TraceFlags(otel.TraceFlags.SAMPLED)
_STATUS = {"ok": otel.StatusCode.OK, "error": otel.StatusCode.ERROR}


def reported_span(span: Span, resource: Resource) -> ReadableSpan | None:
    """The span for export; None: its ids are invalid in OTLP, which requires 16 hexadecimal digits that are not all
    zero.
    """
    context, parent = _context(span.trace_id, span.span_id), _context(span.trace_id, span.parent_id or "")
    if context is None:
        return None
    return ReadableSpan(
        span.name,
        context=context,
        parent=parent,
        resource=resource,
        attributes=_attributes(span.attributes),
        events=[_event(event) for event in span.events],
        status=otel.Status(_STATUS.get(span.status, otel.StatusCode.UNSET)),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=_SCOPE,
    )


def attributes_of(span: ReadableSpan) -> Mapping[str, AttributeValue]:
    """A span's attributes: its internal copy, which is ten times faster to walk than the view in its interface."""
    held = span.attributes
    return held.copy() if isinstance(held, MappingProxyType) else held or {}


def is_reported(span: ReadableSpan) -> bool:
    """Whether the span is the agent's own."""
    return names.ORIGIN in attributes_of(span)


def size_of(span: ReadableSpan) -> int:
    """The approximate size of the sent span in bytes."""
    held = attributes_of(span).values()
    events = sum(200 + sum(map(_size, (event.attributes or {}).values())) for event in span.events)
    return 200 + events + sum(map(_size, held))


def encodable(span: ReadableSpan) -> ReadableSpan:
    """The span itself, or where protobuf could not encode it, a copy with all the data that can be encoded."""
    held = attributes_of(span)
    if _is_text(span.name) and all(map(_is_encodable, held.items())) and not span.events:
        return span
    return ReadableSpan(
        _text(span.name),
        context=span.get_span_context(),
        parent=span.parent,
        resource=span.resource,
        attributes=_sound(held),
        events=[Event(_text(event.name), _sound(event.attributes or {}), event.timestamp) for event in span.events],
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _context(trace_id: str, span_id: str) -> otel.SpanContext | None:
    if len(span_id) != 16 or int(span_id, 16) == 0:
        return None
    return otel.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=_SAMPLED)


def _event(event: JsonObject) -> Event:
    attributes, time_ns = event.get("attributes"), event.get("time_ns")
    at = time_ns if isinstance(time_ns, int) and 0 <= time_ns < 1 << 64 else 0
    return Event(str(event.get("name") or ""), _attributes(attributes if isinstance(attributes, dict) else {}), at)


def _attributes(attributes: JsonObject) -> dict[str, AttributeValue]:
    """Lists and objects as JSON text."""
    return {
        name: value if isinstance(value, str | bool | int | float) else json.dumps(value, ensure_ascii=False)
        for name, value in attributes.items()
        if value is not None
    }


def _sound(attributes: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    return {_text(name): _value(value) for name, value in attributes.items()}


def _value(value: AttributeValue) -> AttributeValue:
    if isinstance(value, str):
        return _text(value)
    return value if _is_encodable(("", value)) else str(value)


def _is_encodable(attribute: tuple[str, AttributeValue]) -> bool:
    name, value = attribute
    if isinstance(value, int):
        return _is_text(name) and -(1 << 63) <= value < 1 << 63
    return _is_text(name) and (not isinstance(value, str) or _is_text(value))


def _is_text(text: str) -> bool:
    return text.isascii() or _text(text) == text


def _text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _size(value: AttributeValue) -> int:
    return 50 + (len(value) if isinstance(value, str) else 0)
