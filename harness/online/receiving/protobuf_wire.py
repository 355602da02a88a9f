"""OTLP in protobuf, read by OpenTelemetry's own classes."""

from collections.abc import Callable, Iterator, Sized
from functools import partial
from typing import Any, Final, Literal

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from harness.online.receiving.bounds import MAX_VALUES, TOO_MANY, BadRequest, Rejected
from harness.online.record import STATUS_MESSAGE, RawRecord, with_body
from harness.values import JsonObject, JsonValue

_STATUS: Final = ("unset", "ok", "error")


def protobuf_records(signal: Literal["traces", "logs"], body: bytes) -> Iterator[Callable[[], RawRecord]]:
    """A function for each record, which raises where that record is malformed.

    Raises DecodeError, and BadRequest for a resource that is too large.
    """
    if signal == "traces":
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            attributes = _resource(resource.resource)
            for scope in resource.scope_spans:
                for span in scope.spans:
                    yield partial(_span, span, attributes)
        return
    for logs in ExportLogsServiceRequest.FromString(body).resource_logs:
        attributes = _resource(logs.resource)
        for scope_logs in logs.scope_logs:
            for log in scope_logs.log_records:
                yield partial(_log, log, attributes)


def _resource(resource: Any) -> JsonObject:
    try:
        return _pairs(resource.attributes, _Room())
    except Rejected as reason:
        raise BadRequest(f"a resource has {reason}") from None


def _span(span: Any, resource: JsonObject) -> RawRecord:
    room = _Room()
    room.take(span.events)
    attributes = _pairs(span.attributes, room)
    if span.status.message:
        attributes[STATUS_MESSAGE] = span.status.message
    code = span.status.code
    return RawRecord(
        kind="span",
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        status=_STATUS[code] if 0 <= code < len(_STATUS) else "unset",
        attributes=attributes,
        events=[
            {"name": event.name, "time_ns": event.time_unix_nano, "attributes": _pairs(event.attributes, room)}
            for event in span.events
        ],
        resource=resource,
    )


def _log(log: Any, resource: JsonObject) -> RawRecord:
    room = _Room()
    attributes = _pairs(log.attributes, room)
    name = log.event_name or str(attributes.get("event.name") or "")
    at = log.time_unix_nano or log.observed_time_unix_nano
    return RawRecord(
        kind="log",
        trace_id=log.trace_id.hex(),
        span_id=log.span_id.hex(),
        name=name,
        start_ns=at,
        end_ns=at,
        attributes=with_body(_value(log.body, room), attributes),
        resource=resource,
    )


class _Room:
    """How many values may still be made of one record, or of one resource: a value of two bytes becomes an object."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def take(self, values: Sized) -> None:
        self._left -= len(values)
        if self._left < 0:
            raise Rejected(TOO_MANY)


def _pairs(pairs: Any, room: _Room) -> JsonObject:
    room.take(pairs)
    return {pair.key: _value(pair.value, room) for pair in pairs}


def _value(value: Any, room: _Room) -> JsonValue:
    match value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            room.take(value.array_value.values)
            return [_value(item, room) for item in value.array_value.values]
        case "kvlist_value":
            return _pairs(value.kvlist_value.values, room)
        case "bytes_value":
            return str(value.bytes_value.hex())
        case name:
            found: JsonValue = getattr(value, name)
            return found
