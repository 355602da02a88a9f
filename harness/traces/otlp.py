"""OTLP, the one codec: export requests in protobuf and JSON as records, and spans as OTLP JSON for collectors.

A record that is not what OTLP says is rejected by itself and counted; the others of its request are taken (partial
success). Everything is bounded here: nesting, the number of attributes, events and values, and the length of texts. A
text that is too long is cut, and the record says so in `harness.cut_characters`.
"""

import base64
import binascii
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal

from google.protobuf.json_format import MessageToJson
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from pydantic import JsonValue

from harness.traces.names import STATUS_MESSAGE
from harness.traces.spans import Span
from harness.values import JsonObject, NotJson, check_depth, check_values

Signal = Literal["traces", "logs"]
RecordKind = Literal["span", "log"]

MAX_VALUES: Final = 50_000
"""Values of one record, those inside of lists and objects included: a line of the journal has a longest length."""
MAX_TEXT: Final = 1 << 20
"""Characters of one text."""
MAX_RECORD: Final = 2 << 20
"""Characters of all texts of one record."""
MAX_RESOURCE: Final = 1 << 16
"""Characters of all texts of one resource, which is stored with every record of it."""
MAX_RECORDS: Final = 500_000
"""Records of one request, well-formed or not."""
MAX_MESSAGES: Final = 1_000_000
"""Records, attributes, values, events and links of one request in protobuf together."""
MAX_JSON_VALUES: Final = 4_000_000
"""Objects, lists and commas of a request in JSON: an object of two bytes takes 64 when it is read, and all of the text
is read at once.
"""
_MAX_DEPTH: Final = 32
"""Of a value."""
_MAX_JSON_DEPTH: Final = 150
"""Of a text: a value nests four levels for each of its own, and ten above them."""
_MAX_ATTRIBUTES: Final = 1_000
_MAX_EVENTS: Final = 2_000
_MAX_NAME: Final = 1_000
_MAX_NS: Final = 1 << 63
_INT64: Final = 1 << 63
CUT: Final = "harness.cut_characters"
_STATUS: Final = ("unset", "ok", "error")


class NotOtlp(ValueError):
    """The body is not an OTLP export request, or is beyond the bounds of one; the message gives the reason."""


class Rejected(ValueError):
    """One record is not taken; the message is the kind of reason, without content of the record."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason)
        self.place = place
        """The field of the record in JSON; "" if it is none alone."""


@dataclass(slots=True, kw_only=True)
class RawRecord:
    """A span or a log record as it was decoded, not yet redacted."""

    kind: RecordKind
    trace_id: str
    """32 hexadecimal digits; empty if a log record names no trace."""
    span_id: str
    parent_id: str = ""
    name: str
    start_ns: int
    end_ns: int
    status: str = "unset"
    attributes: JsonObject
    """A span's status message is one of them; so are the members of a log record's body."""
    events: list[JsonObject] = field(default_factory=list)
    resource: JsonObject = field(default_factory=dict)

    def span(self) -> Span:
        """The record as a span, without its resource."""
        return Span(
            trace_id=self.trace_id,
            span_id=self.span_id,
            parent_id=self.parent_id or None,
            name=self.name,
            start_ns=self.start_ns,
            end_ns=self.end_ns,
            attributes=self.attributes,
            events=tuple(self.events),
            status=self.status,
        )

    def event(self) -> JsonObject:
        """A log record as an event of its span: content moved between them in versions of the conventions."""
        return {"name": self.name, "time_ns": self.start_ns, "attributes": self.attributes}


@dataclass(kw_only=True)
class Decoded:
    """The records of one request, and how many were not taken, by reason."""

    records: list[RawRecord] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    """Records of which a text was cut."""
    _resources: dict[int, tuple[JsonObject, JsonObject]] = field(default_factory=dict)
    """Identity -> a resource as it came, and within the bounds: records share it."""

    def add(self, make: "_Make", raw: Any, resource: JsonObject) -> None:
        """Adds the record that `make` gives, or counts why it is none."""
        try:
            record = bounded(make(raw, resource))
            record.resource = self._bounded_resource(resource)
        except Rejected as reason:
            self.rejected[str(reason)] += 1
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            self.rejected[f"malformed ({type(error).__name__})"] += 1
        else:
            self.cut += CUT in record.attributes or CUT in record.resource
            self.records.append(record)

    def _bounded_resource(self, resource: JsonObject) -> JsonObject:
        found = self._resources.get(id(resource))
        if found is not None:
            return found[1]
        if len(resource) > _MAX_ATTRIBUTES:
            raise Rejected(f"its resource has more than {_MAX_ATTRIBUTES} attributes")
        cutter = _Cutter(left=MAX_RESOURCE)
        kept = cutter.object(resource)
        if cutter.cut:
            kept[CUT] = cutter.cut
        self._resources[id(resource)] = resource, kept
        return kept


_Make = Callable[[Any, JsonObject], RawRecord]
_Found = Iterator[tuple[_Make, Any, JsonObject]]
"""How a record is read, the record, and its resource."""


def decode(signal: Signal, body: bytes, *, as_json: bool, most: int | None = None) -> Decoded:
    """The records of an export request, each within all bounds. Raises NotOtlp if the body as a whole cannot be read.

    `most`: a lower bound of the messages, or of the values in JSON, of the request.
    """
    decoded = Decoded()
    try:
        if as_json:
            found = _json_records(signal, body, most or MAX_JSON_VALUES)
        else:
            found = _protobuf_records(signal, body, most or MAX_MESSAGES)
        for number, one in enumerate(found):
            if number >= MAX_RECORDS:
                raise NotOtlp(_TOO_MANY_RECORDS)
            decoded.add(*one)
    except NotOtlp:
        raise
    except DecodeError:
        raise NotOtlp("the body is not an OTLP export request in protobuf") from None
    except (ValueError, RecursionError) as error:
        raise NotOtlp(f"the body is not an OTLP export request in JSON: {str(error)[:200]}") from None
    return decoded


def answer(signal: Signal, decoded: Decoded, *, as_json: bool) -> bytes:
    """The response message: empty, or a partial success with the number and the reasons of what was not taken."""
    count = decoded.rejected.total()
    reasons = [f"{number} rejected: {reason}" for reason, number in decoded.rejected.most_common(5)]
    if decoded.cut:
        reasons.append(f"{decoded.cut} records had texts cut (at {MAX_TEXT} characters, of a resource {MAX_RESOURCE})")
    response = ExportTraceServiceResponse() if signal == "traces" else ExportLogsServiceResponse()
    if reasons:
        response.partial_success.error_message = "; ".join(reasons)
        setattr(response.partial_success, "rejected_spans" if signal == "traces" else "rejected_log_records", count)
    return MessageToJson(response, indent=None).encode() if as_json else bytes(response.SerializeToString())


_TOO_MANY_RECORDS: Final = f"a request has at most {MAX_RECORDS} records; send smaller batches"


# What a record may hold.


def bounded(record: RawRecord) -> RawRecord:
    """The record within all bounds but those of its resource. Raises Rejected with the bound that it is beyond."""
    _check_ids(record)
    if not (0 <= record.start_ns < _MAX_NS and 0 <= record.end_ns < _MAX_NS):
        raise Rejected("its times are not nanoseconds since the epoch")
    if len(record.attributes) > _MAX_ATTRIBUTES or len(record.events) > _MAX_EVENTS:
        raise Rejected(f"more than {_MAX_ATTRIBUTES} attributes or {_MAX_EVENTS} events")
    cutter = _Cutter()
    record.name = cutter.text(record.name[:_MAX_NAME])
    record.attributes = cutter.object(record.attributes)
    record.events = [cutter.object(event) for event in record.events]
    if cutter.cut:
        record.attributes[CUT] = cutter.cut
    return record


def _check_ids(record: RawRecord) -> None:
    needed = record.kind == "span"
    for name, raw, digits in (("trace id", record.trace_id, 32), ("span id", record.span_id, 16)):
        if (raw or needed) and (len(raw) != digits or not _is_hex(raw) or not raw.strip("0")):
            raise Rejected(f"its {name} is not {digits} hexadecimal digits that are not all zero")
    if record.parent_id and (len(record.parent_id) != 16 or not _is_hex(record.parent_id)):
        raise Rejected("its parent's span id is not 16 hexadecimal digits")
    if not record.parent_id.strip("0"):
        record.parent_id = ""


def _is_hex(text: str) -> bool:
    return not text.strip("0123456789abcdef")


@dataclass(slots=True)
class _Cutter:
    """Copies JSON values within the bounds of texts, numbers and nesting."""

    left: int = MAX_RECORD
    values: int = MAX_VALUES
    cut: int = 0

    def object(self, value: JsonObject, depth: int = 0) -> JsonObject:
        return {self.text(name): self.value(item, depth) for name, item in value.items()}

    def value(self, value: JsonValue, depth: int) -> JsonValue:
        if depth > _MAX_DEPTH:
            raise Rejected(f"a value is nested more than {_MAX_DEPTH} levels deep")
        self.values -= 1
        if self.values < 0:
            raise Rejected(f"more than {MAX_VALUES} values")
        match value:
            case str():
                return self.text(value)
            case dict():
                return self.object(value, depth + 1)
            case list():
                return [self.value(item, depth + 1) for item in value]
            case float() if not math.isfinite(value):
                return str(value)
            case int() if not -_INT64 <= value < 2 * _INT64:
                raise Rejected("a number has more than 64 bits")
            case _:
                return value

    def text(self, text: str) -> str:
        if len(text) > MAX_TEXT or len(text) > self.left:
            kept = max(0, min(MAX_TEXT, self.left))
            self.cut += len(text) - kept
            text = text[:kept]
        self.left -= len(text)
        return text if text.isascii() else text.encode("utf-8", "replace").decode()


# Protobuf, read by OpenTelemetry's own classes.


def _protobuf_records(signal: Signal, body: bytes, most: int) -> _Found:
    _check_messages(signal, body, most)
    if signal == "traces":
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = _attributes_in(group.resource.attributes)
            for spans in group.scope_spans:
                for span in spans.spans:
                    yield _protobuf_span, span, resource
        return
    for group in ExportLogsServiceRequest.FromString(body).resource_logs:
        resource = _attributes_in(group.resource.attributes)
        for logs in group.scope_logs:
            for log in logs.log_records:
                yield _protobuf_log, log, resource


def _protobuf_span(span: Any, resource: JsonObject) -> RawRecord:
    attributes = _attributes_in(span.attributes)
    if span.status.message:
        attributes[STATUS_MESSAGE] = span.status.message
    return RawRecord(
        kind="span",
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        status=_status(span.status.code),
        attributes=attributes,
        events=[
            {"name": event.name, "time_ns": event.time_unix_nano, "attributes": _attributes_in(event.attributes)}
            for event in span.events
        ],
        resource=resource,
    )


def _protobuf_log(log: Any, resource: JsonObject) -> RawRecord:
    attributes = _attributes_in(log.attributes)
    at = log.time_unix_nano or log.observed_time_unix_nano
    return RawRecord(
        kind="log",
        trace_id=log.trace_id.hex(),
        span_id=log.span_id.hex(),
        name=log.event_name or str(attributes.get("event.name") or ""),
        start_ns=at,
        end_ns=at,
        attributes=with_body(_attribute_value(log.body), attributes),
        resource=resource,
    )


def with_body(body: JsonValue, attributes: JsonObject) -> JsonObject:
    """A log record's attributes with its body: an object's members beside them, anything else under `content`."""
    if body is None:
        return attributes
    return {**(body if isinstance(body, dict) else {"content": body}), **attributes}


def _attributes_in(pairs: Any) -> JsonObject:
    return {pair.key: _attribute_value(pair.value) for pair in pairs}


def _attribute_value(value: Any) -> JsonValue:
    match value.WhichOneof("value"):
        case None:
            return None
        case "array_value":
            return [_attribute_value(item) for item in value.array_value.values]
        case "kvlist_value":
            return _attributes_in(value.kvlist_value.values)
        case "bytes_value":
            return str(value.bytes_value.hex())
        case name:
            found: JsonValue = getattr(value, name)
            return found


_RECORDS: Final = frozenset({"ResourceSpans", "ScopeSpans", "Span", "ResourceLogs", "ScopeLogs", "LogRecord"})
"""Records, and the groups that hold them."""


@cache
def _inner_messages(kind: Any) -> Mapping[int, tuple[Any, bool]]:
    """By the number of each field of a message that holds messages: their kind, and whether it counts as a record."""
    held = [one for one in kind.fields if one.message_type is not None]
    return {one.number: (one.message_type, one.message_type.name in _RECORDS) for one in held}


def _check_messages(signal: Signal, body: bytes, most: int) -> None:
    """Raises NotOtlp if there are too many records or messages: each takes much more than its two bytes once it is
    parsed. What is malformed is left to the parser; fields that are no messages count as some, because each takes time.
    """
    left, records = most, MAX_RECORDS
    if len(body) <= 2 * min(left, records):
        return
    request = ExportTraceServiceRequest if signal == "traces" else ExportLogsServiceRequest
    waiting: list[tuple[Any, int, int]] = [(request.DESCRIPTOR, 0, len(body))]
    while waiting:
        kind, start, end = waiting.pop()
        inner = _inner_messages(kind)
        for number, begins, ends in _fields(body, start, end):
            left -= 1
            found, is_record = inner.get(number, (None, False))
            records -= is_record
            if records < 0:
                raise NotOtlp(_TOO_MANY_RECORDS)
            if left < 0:
                raise NotOtlp(
                    f"a request has at most {most} attributes, values, events and links; send smaller batches"
                )
            if found is not None and begins < ends:
                waiting.append((found, begins, ends))


def _fields(body: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The number of each field, and where its content begins and ends; a field without a length is empty."""
    while start < end:
        tag, start = _varint(body, start, end)
        match tag & 7:
            case 0:
                _, start = _varint(body, start, end)
                yield 0, start, start
            case (1 | 5) as kind:
                start += 8 if kind == 1 else 4
                yield 0, start, start
            case 2:
                length, start = _varint(body, start, end)
                yield tag >> 3, start, min(end, start + length)
                start += length
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


# JSON: ids in hexadecimal digits (protobuf's own mapping writes base64, and some writers do), 64-bit numbers as text,
# enumerations as numbers or names. Files also have the names of protobuf and attributes as a plain object.

_GROUP_FIELDS: Final = {"resource", "scope", "schemaUrl"}
"""Fields beside the records: who has these alone sends none."""


def _json_records(signal: Signal, body: bytes, most: int) -> _Found:
    text = body.decode("utf-8")
    try:
        check_values(text, most)
    except NotJson as error:
        raise ValueError(f"{error}; send smaller batches") from None
    check_depth(text, _MAX_JSON_DEPTH)
    whole = json.loads(text, parse_constant=str)
    outer, inner, records = (
        ("resourceSpans", "scopeSpans", "spans") if signal == "traces" else ("resourceLogs", "scopeLogs", "logRecords")
    )
    if not isinstance(whole, dict) or not isinstance(whole.get(outer, None if whole else []), list):
        raise ValueError(f"expected an object with the list {outer!r}")
    read = json_span if signal == "traces" else json_log

    def make(record: JsonValue, resource: JsonObject) -> RawRecord:
        if not isinstance(record, dict):
            raise Rejected(f"it is not in a list {records!r} of objects")
        return read(record, resource)

    for group in whole.get(outer, []):
        raw = group.get("resource") if isinstance(group, dict) else None
        resource = _json_attributes(raw) if isinstance(raw, dict) else {}
        for scope in _list_in(group, inner):
            for record in _list_in(scope, records):
                yield make, record, resource


def _list_in(holder: JsonValue, name: str) -> Iterator[JsonValue]:
    """What the list holds; if there is no such list, one element that is not an object and so is counted."""
    found = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(found, list):
        yield from found
    elif not isinstance(holder, dict) or found is not None or not _GROUP_FIELDS.issuperset(holder):
        yield None


def json_span(span: JsonObject, resource: JsonObject) -> RawRecord:
    """A span in JSON, not yet within the bounds. Raises Rejected with the place of what is malformed."""
    attributes = _json_attributes(span)
    status = span.get("status")
    fields = status if isinstance(status, dict) else {}
    if fields.get("message"):
        attributes[STATUS_MESSAGE] = str(fields["message"])
    return RawRecord(
        kind="span",
        trace_id=_id(span, "traceId", "trace_id"),
        span_id=_id(span, "spanId", "span_id"),
        parent_id=_id(span, "parentSpanId", "parent_span_id", "parent_id"),
        name=str(span.get("name") or ""),
        start_ns=_time(span, "startTimeUnixNano", "start_time_unix_nano"),
        end_ns=_time(span, "endTimeUnixNano", "end_time_unix_nano"),
        status=_status(fields.get("code")),
        attributes=attributes,
        events=[
            {
                "name": str(event.get("name") or ""),
                "time_ns": _time(event, "timeUnixNano", "time_unix_nano"),
                "attributes": _json_attributes(event),
            }
            for event in _objects_in(span, "events")
        ],
        resource=resource,
    )


def json_log(log: JsonObject, resource: JsonObject) -> RawRecord:
    """A log record in JSON, not yet within the bounds. Raises Rejected with the place of what is malformed."""
    attributes = _json_attributes(log)
    at = _time(log, "timeUnixNano", "time_unix_nano") or _time(log, "observedTimeUnixNano", "observed_time_unix_nano")
    return RawRecord(
        kind="log",
        trace_id=_id(log, "traceId", "trace_id"),
        span_id=_id(log, "spanId", "span_id"),
        name=str(_named(log, "eventName", "event_name") or attributes.get("event.name") or ""),
        start_ns=at,
        end_ns=at,
        attributes=with_body(_json_value(log.get("body")), attributes),
        resource=resource,
    )


def _named(holder: JsonObject, *names: str) -> JsonValue:
    return next((holder[name] for name in names if holder.get(name) is not None), None)


def _objects_in(holder: JsonObject, name: str) -> list[JsonObject]:
    value = holder.get(name)
    if value is None:
        return []
    found = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(found) < len(value):
        raise Rejected("its attributes, values or events are not a list of objects", name)
    return found


def _json_attributes(holder: JsonObject, name: str = "attributes") -> JsonObject:
    plain = holder.get(name)
    if isinstance(plain, dict):
        return dict(plain)
    return {str(pair.get("key", "")): _json_value(pair.get("value")) for pair in _objects_in(holder, name)}


def _json_value(value: JsonValue) -> JsonValue:
    kind, raw = next(iter(value.items()), ("", None)) if isinstance(value, dict) else ("", None)
    match kind.replace("_v", "V"):
        case "intValue":
            return _whole_number(raw, "attributes", -_INT64)
        case "doubleValue":
            return _double(raw)
        case "bytesValue":
            return _bytes(raw)
        case "arrayValue":
            return [_json_value(item) for item in _objects_in(raw, "values")] if isinstance(raw, dict) else []
        case "kvlistValue":
            return _json_attributes(raw, "values") if isinstance(raw, dict) else {}
        case _:
            return raw


def _id(holder: JsonObject, *names: str) -> str:
    raw = _named(holder, *names)
    digits = raw.strip().lower().removeprefix("0x") if isinstance(raw, str) else ""
    if _is_hex(digits):
        return digits
    try:
        return base64.b64decode(str(raw), validate=True).hex()
    except (binascii.Error, ValueError):
        raise Rejected("an id is not hexadecimal digits", names[0]) from None


def _time(holder: JsonObject, *names: str) -> int:
    return _whole_number(_named(holder, *names), names[0], 0)


def _whole_number(raw: JsonValue, place: str, least: int) -> int:
    text = "0" if raw is None else str(raw)
    try:
        value = int(text) if len(text) <= 20 else 2 * _INT64
    except ValueError:
        value = 2 * _INT64
    if not least <= value < 2 * _INT64:
        raise Rejected("a time or an integer is not a whole number of 64 bits", place)
    return value


def _double(raw: JsonValue) -> JsonValue:
    """As protobuf has it: 1 is 1.0, and what is not finite comes as a text."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return raw
    if isinstance(raw, int) and raw.bit_length() > 64:
        return raw  # rejected like every number of more than 64 bits
    try:
        return float(raw)
    except (ValueError, OverflowError):
        raise Rejected("a doubleValue is not a number", "attributes") from None


def _bytes(raw: JsonValue) -> JsonValue:
    """In hexadecimal digits, as bytes of protobuf are stored: the same span by both is one."""
    if not isinstance(raw, str):
        return raw
    try:
        return base64.b64decode(raw, validate=True).hex()
    except (binascii.Error, ValueError):
        raise Rejected("a bytesValue is not base64", "attributes") from None


def _status(code: JsonValue) -> str:
    if isinstance(code, int):
        return _STATUS[code] if 0 <= code < len(_STATUS) else "unset"
    found = str(code or "unset").removeprefix("STATUS_CODE_").lower()
    return found if found in _STATUS else "unset"


# Spans as OTLP JSON, as collectors accept it: ids in hexadecimal, 64-bit numbers as text.


def typed_value(value: JsonValue) -> JsonObject:
    """Plain JSON as an AnyValue. A whole number that needs more than 64 bits is written as text."""
    match value:
        case None:
            return {}
        case list():
            return {"arrayValue": {"values": [typed_value(item) for item in value]}}
        case dict():
            return {"kvlistValue": {"values": typed_pairs(value)}}
        case bool() | float():
            return {"boolValue" if isinstance(value, bool) else "doubleValue": value}
        case int() if -_INT64 <= value < _INT64:
            return {"intValue": str(value)}
        case _:
            return {"stringValue": str(value)}


def typed_pairs(values: JsonObject) -> list[JsonValue]:
    return [{"key": name, "value": typed_value(value)} for name, value in values.items()]


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
        "events": [_exported_event(event) for event in span.events],
        "status": status,
    }
    return plain if span.parent_id is None else {**plain, "parentSpanId": span.parent_id}


def _exported_event(event: JsonObject) -> JsonValue:
    attributes = event.get("attributes")
    others = {name: value for name, value in event.items() if name not in _OWN_EVENT}
    fields: JsonObject = {**others, **(attributes if isinstance(attributes, dict) else {})}
    return {
        "name": str(event.get("name") or ""),
        "timeUnixNano": str(event.get("time_ns") or 0),
        "attributes": typed_pairs(fields),
    }
