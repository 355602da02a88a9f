"""OTLP: spans as an agent sends them (protobuf or JSON), typed values as plain JSON, and spans as OTLP JSON for
collectors.
"""

import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from harness.traces.foreign_json import Record
from harness.traces.spans import Span
from harness.traces.step_names import STATUS_MESSAGE
from harness.values import JsonObject, NotJson, check_depth, check_values

# Spans that an agent sends about itself: OTLP over HTTP, as protobuf or as JSON.
#
# Protobuf's wire format is parsed here: the few messages of a span need fifty lines, and the generated classes would be
# a dependency of every installation. Unknown fields are skipped, as the format requires.
#
# Everything is limited here, on entry, because accepted data is stored, walked and scored later: nesting, the number of
# attributes and events, the number of values, the lengths of names and ids, and integers, which have 64 bits as in
# protobuf. Spans are made one by one, so that whoever asks for them can stop, and can let other tasks run in between.

_MAX_DEPTH = 32
"""The depth of values; their JSON has four levels for each, and ten above them."""
_MAX_JSON_DEPTH = 4 * _MAX_DEPTH + 10
_MAX_VALUES = 200_000
"""Of one request: fields in protobuf; objects, lists and commas in JSON."""
_MAX_ATTRIBUTES = 2_000
_MAX_EVENTS = 2_000
_MAX_NAME = 1_000
_MAX_NS = 1 << 63
_ID = re.compile(r"[0-9a-f]{0,32}")
_STATUS = ("unset", "ok", "error")
_LENGTHS = {1: 8, 5: 4}


class NotOtlp(ValueError):
    """The body is not an OTLP export request; the message gives the reason."""


def spans_of(body: bytes, *, as_json: bool) -> Iterator[Span]:
    """The unchanged spans of an ExportTraceServiceRequest, each made when it is asked for. Raises NotOtlp, also if a
    limit is exceeded.
    """
    try:
        for span in _json_spans(body) if as_json else _protobuf_spans(body):
            yield _within_limits(span)
    except NotOtlp:
        raise
    except NotJson as error:
        raise NotOtlp(f"{error}; send smaller batches") from None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, struct.error, RecursionError) as error:
        raise NotOtlp(f"the body is not an OTLP export request: {type(error).__name__}: {str(error)[:200]}") from None


def _within_limits(span: Span) -> Span:
    """The span itself. Raises NotOtlp with the exceeded limit."""
    ids = {"trace id": span.trace_id, "span id": span.span_id, "parent span id": span.parent_id or ""}
    for name, value in ids.items():
        if _ID.fullmatch(value) is None:
            raise NotOtlp(f"a {name} is at most 32 hexadecimal digits, not {value[:40]!r}")
    if len(span.name) > _MAX_NAME:
        raise NotOtlp(f"a span's name has {len(span.name)} characters; at most {_MAX_NAME} are taken")
    if not (0 <= span.start_ns < _MAX_NS and 0 <= span.end_ns < _MAX_NS):
        raise NotOtlp(f"span {span.span_id!r}: its times are not nanoseconds since the epoch in 63 bits")
    events = [event["attributes"] for event in span.events]
    for kind, count, most in (
        ("events", len(span.events), _MAX_EVENTS),
        ("attributes", len(span.attributes) + sum(map(_size, events)), _MAX_ATTRIBUTES),
    ):
        if count > most:
            raise NotOtlp(f"span {span.span_id!r} has {count} {kind}; at most {most} are taken")
    return span


def _size(attributes: JsonValue) -> int:
    return len(attributes) if isinstance(attributes, dict) else 0


def _protobuf_spans(body: bytes) -> Iterator[Span]:
    budget = _Budget(_MAX_VALUES)
    for resource in _Message(body, budget).messages(1):
        for scope in resource.messages(2):
            for span in scope.messages(2):
                status = next(iter(span.messages(15)), _Message(b"", budget))
                yield Span(
                    trace_id=span.data(1).hex(),
                    span_id=span.data(2).hex(),
                    parent_id=span.data(4).hex() or None,
                    name=span.text(5),
                    start_ns=span.number(7),
                    end_ns=span.number(8),
                    attributes=_attributes_in(span, 9),
                    events=tuple(_protobuf_event(event) for event in span.messages(11)),
                    status=_status(status.number(3)),
                )


def _protobuf_event(event: "_Message") -> JsonObject:
    return {"time_ns": event.number(1), "name": event.text(2), "attributes": _attributes_in(event, 3)}


def _attributes_in(holder: "_Message", field: int, depth: int = 0) -> JsonObject:
    found: JsonObject = {}
    for pair in holder.messages(field):
        value = next(iter(pair.messages(2)), None)
        found[pair.text(1)] = None if value is None else _any_value(value, depth)
    return found


def _any_value(value: "_Message", depth: int) -> JsonValue:
    if depth > _MAX_DEPTH:
        raise NotOtlp(f"a value is nested more than {_MAX_DEPTH} levels deep")
    for field, raw in value.fields:
        match field, raw:
            case ((2 | 3), int()):
                return raw != 0 if field == 2 else raw - ((raw >> 63) << 64)
            case 5, bytes():
                return [_any_value(item, depth + 1) for item in value.inner(raw).messages(1)]
            case 6, bytes():
                return _attributes_in(value.inner(raw), 1, depth + 1)
            case _, bytes() if field in _PLAIN:
                return _PLAIN[field](raw)
            case _:
                continue
    return None


_PLAIN: Mapping[int, Callable[[bytes], JsonValue]] = {
    1: lambda raw: raw.decode("utf-8", "replace"),
    4: lambda raw: _json_number(float(struct.unpack("<d", raw)[0])),
    7: bytes.hex,
}
"""Fields of an AnyValue that contain a text, a double or bytes."""


class _Budget:
    """The fields that all messages of one request may still have."""

    def __init__(self, most: int) -> None:
        self.most = self._left = most

    def take(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise NotOtlp(f"the request has more than {self.most} fields; send smaller batches")


@dataclass(frozen=True)
class _Message:
    """A message in protobuf's wire format."""

    content: bytes
    budget: _Budget

    @cached_property
    def fields(self) -> list[tuple[int, int | bytes]]:
        """Field number and value; fixed-size numbers as their bytes."""
        return list(self._fields_in())

    def inner(self, content: bytes) -> "_Message":
        """A message that a field of this one holds."""
        return _Message(content, self.budget)

    def _fields_in(self) -> Iterator[tuple[int, int | bytes]]:
        at = 0
        while at < len(self.content):
            self.budget.take()
            key, at = self._varint(at)
            match key & 7:
                case 0:
                    number, at = self._varint(at)
                    yield key >> 3, number
                case 2:
                    length, at = self._varint(at)
                    yield key >> 3, self._slice(at, length)
                    at += length
                case (1 | 5) as kind:
                    yield key >> 3, self._slice(at, _LENGTHS[kind])
                    at += _LENGTHS[kind]
                case kind:
                    raise NotOtlp(f"wire type {kind} at byte {at} is none of protobuf's")

    def messages(self, field: int) -> "Iterator[_Message]":
        return (self.inner(value) for number, value in self.fields if number == field and isinstance(value, bytes))

    def data(self, field: int) -> bytes:
        found = b""
        for number, value in self.fields:
            found = value if number == field and isinstance(value, bytes) else found
        return found

    def text(self, field: int) -> str:
        return self.data(field).decode("utf-8", "replace")

    def number(self, field: int) -> int:
        """The value of a varint or a fixed 64-bit field; 0 if it is absent."""
        found: int | bytes = 0
        for number, value in self.fields:
            found = value if number == field else found
        return int.from_bytes(found, "little") if isinstance(found, bytes) else found

    def _slice(self, at: int, length: int) -> bytes:
        if at + length > len(self.content):
            raise NotOtlp(f"the message ends in the middle of a field (at byte {at})")
        return self.content[at : at + length]

    def _varint(self, at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            if at >= len(self.content) or shift > 63:
                raise NotOtlp(f"the message ends in the middle of a number (at byte {at})")
            byte = self.content[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at


def _json_spans(body: bytes) -> Iterator[Span]:
    text = body.decode("utf-8")
    check_values(text, _MAX_VALUES)
    check_depth(text, _MAX_JSON_DEPTH)
    whole: JsonValue = json.loads(
        text, parse_constant=str, parse_float=lambda number: _json_number(float(number)), parse_int=_integer
    )
    json.dumps(whole, ensure_ascii=False).encode("utf-8")  # half of a surrogate pair could not be stored
    for resource in _list(whole, "resourceSpans"):
        for scope in _list(resource, "scopeSpans"):
            for span in _list(scope, "spans"):
                status = span.get("status")
                yield Span(
                    trace_id=str(span.get("traceId", "")).lower(),
                    span_id=str(span.get("spanId", "")).lower(),
                    parent_id=str(span.get("parentSpanId") or "").lower() or None,
                    name=str(span.get("name", "")),
                    start_ns=_integer_field(span, "startTimeUnixNano"),
                    end_ns=_integer_field(span, "endTimeUnixNano"),
                    attributes=_json_pairs(span),
                    events=tuple(_json_event(event) for event in _list(span, "events")),
                    status=_status(status.get("code") if isinstance(status, dict) else 0),
                )


def _json_event(event: JsonObject) -> JsonObject:
    return {
        "time_ns": _integer_field(event, "timeUnixNano"),
        "name": str(event.get("name", "")),
        "attributes": _json_pairs(event),
    }


def _json_pairs(holder: JsonValue, name: str = "attributes") -> JsonObject:
    return {str(pair.get("key", "")): _json_value(pair.get("value")) for pair in _list(holder, name)}


def _json_value(value: JsonValue) -> JsonValue:
    kind, raw = next(iter(value.items()), ("", None)) if isinstance(value, dict) else ("", None)
    match kind:
        case "intValue":
            return _integer(raw)
        case "arrayValue":
            return [_json_value(item) for item in _list(raw, "values")]
        case "kvlistValue":
            return _json_pairs(raw, "values")
        case _:
            return raw


def _list(holder: JsonValue, name: str) -> list[JsonObject]:
    value = holder.get(name) if isinstance(holder, dict) else None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _integer_field(holder: JsonObject, name: str) -> int:
    return _integer(holder.get(name) or 0)


def _integer(raw: JsonValue) -> int:
    """The integer in a JSON number or text, which protobuf's JSON uses for 64-bit integers. Raises NotOtlp."""
    text = str(raw)
    if len(text) > 20 or not -(1 << 63) <= (value := int(text)) < 1 << 64:
        raise NotOtlp(f"the integer {text[:40]!r} has more than 64 bits")
    return value


def _json_number(number: float) -> float | str:
    """A number that JSON cannot represent becomes text."""
    return number if math.isfinite(number) else str(number)


def _status(code: object) -> str:
    if isinstance(code, int):
        return _STATUS[code] if 0 <= code < len(_STATUS) else "unset"
    return str(code).removeprefix("STATUS_CODE_").lower()


_INT64 = 2**63


def attributes_of(holder: Record) -> JsonObject:
    """The `attributes` of a span, event or log record; a plain object is taken as it is."""
    raw = holder.value("attributes")
    if isinstance(raw, dict):
        return dict(raw)
    return plain_pairs(holder.records("attributes"))


def plain_value(value: Record | None) -> JsonValue:
    """An AnyValue as plain JSON; None for an empty one."""
    if value is None or not value.data:
        return None
    name, found = next(iter(value.data.items()))
    match name.replace("_v", "V"):
        case "arrayValue" if isinstance(found, dict):
            return [plain_value(item) for item in value.within(name, found).records("values")]
        case "kvlistValue" if isinstance(found, dict):
            return plain_pairs(value.within(name, found).records("values"))
        case "intValue" if isinstance(found, str):
            return _parsed_integer(value, name, found)
        case _:
            return found


def plain_pairs(pairs: Iterable[Record]) -> JsonObject:
    return {pair.text("key") or "": plain_value(pair.record("value")) for pair in pairs}


def typed_value(value: JsonValue) -> JsonObject:
    """Plain JSON as an AnyValue. A whole number that needs more than 64 bits is written as text."""
    match value:
        case None:
            return {}
        case list():
            return {"arrayValue": {"values": [typed_value(item) for item in value]}}
        case dict():
            return {"kvlistValue": {"values": typed_pairs(value)}}
        case _:
            return _typed_scalar(value)


def _typed_scalar(value: str | float) -> JsonObject:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)} if -_INT64 <= value < _INT64 else {"stringValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}


def typed_pairs(values: JsonObject) -> list[JsonValue]:
    return [{"key": name, "value": typed_value(value)} for name, value in values.items()]


def _parsed_integer(value: Record, name: str, digits: str) -> int:
    if len(digits) > 20 or not digits.removeprefix("-").isdecimal() or not digits.isascii():
        raise value.refusal(name, f"{digits[:40]!r} is no 64-bit number")
    return int(digits)


# Spans as OTLP JSON, as collectors accept it: ids in hexadecimal, 64-bit numbers as text.

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
