"""OTLP in protobuf, within bounds that are checked before it is parsed."""

from collections.abc import Callable, Iterator, Mapping, Sized
from functools import partial
from typing import Any, Final, Literal

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pydantic import JsonValue

from harness.production.record import STATUS_MESSAGE, RawRecord, with_body
from harness.values import JsonObject

# What one record may hold, and how a record or a whole request is refused.

MAX_VALUES: Final = 50_000
"""Values of one record, those inside of lists and objects included: a line of the journal has a longest length."""
TOO_MANY: Final = f"more than {MAX_VALUES} values"


class BadRequest(ValueError):
    """The body is not an export request; the message gives the reason."""


class Rejected(ValueError):
    """One record is not taken; the message is the kind of reason, without content of the record."""


# OTLP in protobuf, read by OpenTelemetry's own classes.

_STATUS: Final = ("unset", "ok", "error")


def protobuf_records(signal: Literal["traces", "logs"], body: bytes) -> Iterator[Callable[[], RawRecord]]:
    """A function for each record, which raises if that record is malformed.

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
        return _attributes_in(resource.attributes, _Room())
    except Rejected as reason:
        raise BadRequest(f"a resource has {reason}") from None


def _span(span: Any, resource: JsonObject) -> RawRecord:
    room = _Room()
    room.take(span.events)
    attributes = _attributes_in(span.attributes, room)
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
            {"name": event.name, "time_ns": event.time_unix_nano, "attributes": _attributes_in(event.attributes, room)}
            for event in span.events
        ],
        resource=resource,
    )


def _log(log: Any, resource: JsonObject) -> RawRecord:
    room = _Room()
    attributes = _attributes_in(log.attributes, room)
    name = log.event_name or str(attributes.get("event.name") or "")
    at = log.time_unix_nano or log.observed_time_unix_nano
    return RawRecord(
        kind="log",
        trace_id=log.trace_id.hex(),
        span_id=log.span_id.hex(),
        name=name,
        start_ns=at,
        end_ns=at,
        attributes=with_body(_attribute_value(log.body, room), attributes),
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


def _attributes_in(pairs: Any, room: _Room) -> JsonObject:
    room.take(pairs)
    return {pair.key: _attribute_value(pair.value, room) for pair in pairs}


def _attribute_value(value: Any, room: _Room) -> JsonValue:
    match value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            room.take(value.array_value.values)
            return [_attribute_value(item, room) for item in value.array_value.values]
        case "kvlist_value":
            return _attributes_in(value.kvlist_value.values, room)
        case "bytes_value":
            return str(value.bytes_value.hex())
        case name:
            found: JsonValue = getattr(value, name)
            return found


MAX_MESSAGES: Final = 1_000_000
"""Records, attributes, values, events and links of one request together."""

_PAIR: Final = "KeyValue"
_ANY: Final = "AnyValue"
_RESOURCE: Final = {1: _PAIR, 3: "EntityRef"}
_SCOPE: Final = {3: _PAIR}
_MESSAGES: Final[Mapping[str, Mapping[int, str]]] = {
    "traces": {1: "ResourceSpans"},
    "ResourceSpans": {1: "Resource", 2: "ScopeSpans"},
    "ScopeSpans": {1: "Scope", 2: "Span"},
    "Span": {9: _PAIR, 11: "Event", 13: "Link", 15: "Status"},
    "Event": {3: _PAIR},
    "Link": {4: _PAIR},
    "logs": {1: "ResourceLogs"},
    "ResourceLogs": {1: "Resource", 2: "ScopeLogs"},
    "ScopeLogs": {1: "Scope", 2: "LogRecord"},
    "LogRecord": {5: _ANY, 6: _PAIR},
    "Resource": _RESOURCE,
    "Scope": _SCOPE,
    _PAIR: {2: _ANY},
    _ANY: {5: "ArrayValue", 6: "KeyValueList"},
    "ArrayValue": {1: _ANY},
    "KeyValueList": {1: _PAIR},
}
"""The fields of each message that hold messages; a message that is not listed holds none."""
_RECORDS: Final = frozenset({"ResourceSpans", "ScopeSpans", "Span", "ResourceLogs", "ScopeLogs", "LogRecord"})
"""Records, and the groups that hold them."""
_NONE: Final[Mapping[int, str]] = {}


def too_many(
    signal: Literal["traces", "logs"], body: bytes, most_records: int
) -> Literal["records", "messages"] | None:
    """What there are too many of: records, or messages in all. What is malformed is left to the parser.

    Fields that are not messages count as messages, because each takes time.
    """
    left, records = MAX_MESSAGES, 0
    waiting: list[tuple[str, int, int]] = [(signal, 0, len(body))]
    while waiting:
        kind, start, end = waiting.pop()
        inner = _MESSAGES.get(kind, _NONE)
        for number, begins, ends in _fields(body, start, end):
            left -= 1
            found = inner.get(number)
            records += found in _RECORDS
            if records > most_records:
                return "records"
            if left < 0:
                return "messages"
            if found is not None and begins < ends:
                waiting.append((found, begins, ends))
    return None


def _fields(body: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The number of each field, and where its content begins and ends; a field without a length is empty."""
    while start < end:
        tag, start = _varint(body, start, end)
        match tag & 7:
            case 0:
                _, start = _varint(body, start, end)
                yield 0, start, start
            case 1:
                start += 8
                yield 0, start, start
            case 2:
                length, start = _varint(body, start, end)
                yield tag >> 3, start, min(end, start + length)
                start += length
            case 5:
                start += 4
                yield 0, start, start
            case _:
                return


def _varint(body: bytes, start: int, end: int) -> tuple[int, int]:
    """The number and where it ends; past the end for a number that is cut off or longer than 64 bits."""
    if start < end and body[start] < 0x80:
        return body[start], start + 1
    value = 0
    for shift, place in enumerate(range(start, min(end, start + 10))):
        value |= (body[place] & 0x7F) << 7 * shift
        if body[place] < 0x80:
            return value, place + 1
    return 0, end
