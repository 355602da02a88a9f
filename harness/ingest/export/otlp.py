"""Spans as OTLP JSON, as collectors accept it: ids in hexadecimal, 64-bit numbers as text."""

from collections.abc import Iterable

from harness.ingest.names import STATUS_MESSAGE
from harness.ingest.otel.values import typed_pairs
from harness.trace import Span
from harness.values import JsonObject, JsonValue

_CODES = {"ok": 1, "error": 2}
_INTERNAL = 1
_OWN_EVENT = ("name", "time_ns", "attributes")


def export_otlp(spans: Iterable[Span]) -> JsonObject:
    """One export request with all spans; data without a field in OTLP is stored in attributes."""
    resource: JsonObject = {"attributes": typed_pairs({"service.name": "trial-harness"})}
    scope: JsonObject = {"scope": {"name": "harness"}, "spans": [_span(span) for span in spans]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def _span(span: Span) -> JsonObject:
    message = span.attributes.get(STATUS_MESSAGE)
    has_message = isinstance(message, str) and bool(message)
    attributes = {
        name: value for name, value in span.attributes.items() if not (has_message and name == STATUS_MESSAGE)
    }
    status: JsonObject = {"code": _CODES[span.status]} if span.status in _CODES else {}
    if has_message:
        status["message"] = message
    plain: JsonObject = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": span.name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": typed_pairs(attributes),
        "events": [_event(event) for event in span.events],
        "status": status,
    }
    return plain if span.parent_id is None else {**plain, "parentSpanId": span.parent_id}


def _event(event: JsonObject) -> JsonValue:
    attributes = event.get("attributes")
    others = {name: value for name, value in event.items() if name not in _OWN_EVENT}
    fields: JsonObject = {**others, **(attributes if isinstance(attributes, dict) else {})}
    return {
        "name": str(event.get("name") or ""),
        "timeUnixNano": str(event.get("time_ns") or 0),
        "attributes": typed_pairs(fields),
    }
