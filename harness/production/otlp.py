"""OTLP/HTTP requests as records: protobuf by OpenTelemetry's own classes, and JSON with ids in hexadecimal digits.

A record that is not what OTLP says is rejected by itself and counted; the others of its request are taken (partial
success). Everything is bounded here: nesting, the number of attributes, events and values, and the length of texts. A
text that is too long is cut, and the record says so in `harness.cut_characters`.
"""

import base64
import binascii
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, NoReturn

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from pydantic import JsonValue

from harness.production.otlp_protobuf import (
    MAX_MESSAGES,
    MAX_VALUES,
    TOO_MANY,
    BadRequest,
    Rejected,
    protobuf_records,
    too_many,
)
from harness.production.record import STATUS_MESSAGE, RawRecord, with_body
from harness.values import JsonObject, NotJson, check_depth, check_values

_MAX_DEPTH_OF_TEXT: Final = 150
"""Of the text: a value of 32 levels nests four levels for each, and ten above them."""
_MAX_VALUES: Final = 4_000_000
"""Objects, lists and commas of the text: an object of two bytes takes 64 when it is read, and all of the text is read
at once.
"""
_STATUS: Final = {0: "unset", 1: "ok", 2: "error"}


_KNOWN: Final = {"resource", "scope", "schemaUrl"}
"""Fields beside the records: who has these alone sends none."""


class Malformed(ValueError):
    """A record, or what should hold records, is not what OTLP says; the message is the kind of reason."""


def json_records(signal: Literal["traces", "logs"], body: bytes) -> Iterator[Callable[[], RawRecord]]:
    """A function for each record, which raises Malformed if it is not a record. Raises ValueError for the body."""
    text = body.decode("utf-8")
    try:
        check_values(text, _MAX_VALUES)
    except NotJson as error:
        raise ValueError(f"{error}; send smaller batches") from None
    check_depth(text, _MAX_DEPTH_OF_TEXT)
    whole = json.loads(text, parse_constant=str)
    outer, inner, records = (
        ("resourceSpans", "scopeSpans", "spans") if signal == "traces" else ("resourceLogs", "scopeLogs", "logRecords")
    )
    if not isinstance(whole, dict) or not isinstance(whole.get(outer, None if whole else []), list):
        raise ValueError(f"expected an object with the list {outer!r}")
    make = _span if signal == "traces" else _log
    for group in whole.get(outer, []):
        raw = group.get("resource") if isinstance(group, dict) else None
        resource = _attributes_in(raw) if isinstance(raw, dict) else {}
        for scope in _list_in(group, inner):
            for record in _list_in(scope, records):
                yield partial(make, record, resource) if isinstance(record, dict) else partial(_refuse, records)


def _list_in(holder: JsonValue, name: str) -> Iterator[JsonValue]:
    """What the list holds; if there is no such list, one element that is not an object and so is counted."""
    found = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(found, list):
        yield from found
    elif not isinstance(holder, dict) or found is not None or not _KNOWN.issuperset(holder):
        yield None


def _refuse(name: str) -> NoReturn:
    raise Malformed(f"it is not in a list {name!r} of objects")


def _span(span: JsonObject, resource: JsonObject) -> RawRecord:
    attributes = _attributes_in(span)
    status = span.get("status")
    fields = status if isinstance(status, dict) else {}
    if fields.get("message"):
        attributes[STATUS_MESSAGE] = str(fields["message"])
    return RawRecord(
        kind="span",
        trace_id=_id(span, "traceId"),
        span_id=_id(span, "spanId"),
        parent_id=_id(span, "parentSpanId"),
        name=str(span.get("name") or ""),
        start_ns=_parsed_integer(span.get("startTimeUnixNano")),
        end_ns=_parsed_integer(span.get("endTimeUnixNano")),
        status=_status(fields.get("code")),
        attributes=attributes,
        events=[
            {
                "name": str(event.get("name") or ""),
                "time_ns": _parsed_integer(event.get("timeUnixNano")),
                "attributes": _attributes_in(event),
            }
            for event in _objects_in(span, "events")
        ],
        resource=resource,
    )


def _log(log: JsonObject, resource: JsonObject) -> RawRecord:
    attributes = _attributes_in(log)
    at = _parsed_integer(log.get("timeUnixNano")) or _parsed_integer(log.get("observedTimeUnixNano"))
    return RawRecord(
        kind="log",
        trace_id=_id(log, "traceId"),
        span_id=_id(log, "spanId"),
        name=str(log.get("eventName") or attributes.get("event.name") or ""),
        start_ns=at,
        end_ns=at,
        attributes=with_body(_attribute_value(log.get("body")), attributes),
        resource=resource,
    )


def _objects_in(holder: JsonObject, name: str) -> list[JsonObject]:
    value = holder.get(name)
    if value is None:
        return []
    found = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(found) < len(value):
        raise Malformed("its attributes, values or events are not a list of objects")
    return found


def _attributes_in(holder: JsonObject, name: str = "attributes") -> JsonObject:
    return {str(pair.get("key", "")): _attribute_value(pair.get("value")) for pair in _objects_in(holder, name)}


def _attribute_value(value: JsonValue) -> JsonValue:
    kind, raw = next(iter(value.items()), ("", None)) if isinstance(value, dict) else ("", None)
    match kind:
        case "intValue":
            return _parsed_integer(raw, signed=True)
        case "doubleValue":
            return _parsed_double(raw)
        case "bytesValue":
            return _bytes(raw)
        case "arrayValue":
            return [_attribute_value(item) for item in _objects_or_none(raw, "values")]
        case "kvlistValue":
            return _attributes_in(raw, "values") if isinstance(raw, dict) else {}
        case _:
            return raw


def _objects_or_none(holder: JsonValue, name: str) -> list[JsonObject]:
    return _objects_in(holder, name) if isinstance(holder, dict) else []


def _id(holder: JsonObject, name: str) -> str:
    raw = holder.get(name)
    return raw.lower() if isinstance(raw, str) else ""


def _parsed_integer(raw: JsonValue, *, signed: bool = False) -> int:
    if raw is None:
        return 0
    text = str(raw)
    try:
        value = int(text) if len(text) <= 20 else 1 << 64
    except ValueError:
        value = 1 << 64
    if not (-(1 << 63) if signed else 0) <= value < 1 << 64:
        raise Malformed("a time or an integer is not a whole number of 64 bits")
    return value


def _parsed_double(raw: JsonValue) -> JsonValue:
    """As protobuf has it: 1 is 1.0, and what is not finite comes as a text."""
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return raw
    if isinstance(raw, int) and raw.bit_length() > 64:
        return raw  # rejected like every number of more than 64 bits
    try:
        return float(raw)
    except (ValueError, OverflowError):
        raise Malformed("a doubleValue is not a number") from None


def _bytes(raw: JsonValue) -> JsonValue:
    """In hexadecimal digits, as bytes of protobuf are stored: the same span by both is one."""
    if not isinstance(raw, str):
        return raw
    try:
        return base64.b64decode(raw, validate=True).hex()
    except (binascii.Error, ValueError):
        raise Malformed("a bytesValue is not base64") from None


def _status(code: JsonValue) -> str:
    if isinstance(code, int):
        return _STATUS.get(code, "unset")
    found = str(code or "unset").removeprefix("STATUS_CODE_").lower()
    return found if found in _STATUS.values() else "unset"


Signal = Literal["traces", "logs"]

MAX_TEXT: Final = 1 << 20
"""Characters of one text."""
MAX_RECORD: Final = 2 << 20
"""Characters of all texts of one record."""
MAX_RESOURCE: Final = 1 << 16
"""Characters of all texts of one resource, which is stored with every record of it."""
MAX_RECORDS: Final = 500_000
"""Records of one request, well-formed or not."""
_TOO_MANY_RECORDS: Final = f"a request has at most {MAX_RECORDS} records; send smaller batches"
_TOO_MANY_MESSAGES: Final = (
    f"a request has at most {MAX_MESSAGES} attributes, values, events and links; send smaller batches"
)
_MAX_DEPTH_OF_VALUE: Final = 32
_MAX_ATTRIBUTES: Final = 1_000
_MAX_EVENTS: Final = 2_000
_MAX_NAME: Final = 1_000
_MAX_NS: Final = 1 << 63
_MIN_INT, _MAX_INT = -(1 << 63), 1 << 64
CUT: Final = "harness.cut_characters"


@dataclass(kw_only=True)
class Decoded:
    """The records of one request, and how many were not taken, by reason."""

    records: list[RawRecord] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    """Records of which a text was cut."""
    resources: dict[int, tuple[JsonObject, JsonObject]] = field(default_factory=dict)
    """Identity -> a resource as it came, and within the bounds: records share it."""


def decode(signal: Signal, body: bytes, *, as_json: bool) -> Decoded:
    """The records of an export request. Raises BadRequest if the body as a whole cannot be read."""
    if as_json:
        return _decoded(json_records(signal, body))
    excess = too_many(signal, body, MAX_RECORDS)
    if excess is not None:
        raise BadRequest(_TOO_MANY_RECORDS if excess == "records" else _TOO_MANY_MESSAGES)
    decoded = Decoded()
    try:
        for make in _limited(protobuf_records(signal, body)):
            _add_record(decoded, make)
    except DecodeError:
        raise BadRequest("the body is not an OTLP export request in protobuf") from None
    return decoded


def answer(signal: Signal, decoded: Decoded, *, as_json: bool) -> bytes:
    """The response message: empty, or a partial success with the number and the reasons of what was not taken."""
    count = decoded.rejected.total()
    words = "; ".join(f"{number} rejected: {reason}" for reason, number in decoded.rejected.most_common(5))
    if decoded.cut:
        words = (
            f"{words}; " * bool(words)
            + f"{decoded.cut} records had texts cut (at {MAX_TEXT} characters, of a resource {MAX_RESOURCE})"
        )
    name = "rejectedSpans" if signal == "traces" else "rejectedLogRecords"
    if as_json:
        return json.dumps({"partialSuccess": {name: str(count), "errorMessage": words}} if words else {}).encode()
    response = ExportTraceServiceResponse() if signal == "traces" else ExportLogsServiceResponse()
    if words:
        response.partial_success.error_message = words
        setattr(response.partial_success, "rejected_spans" if signal == "traces" else "rejected_log_records", count)
    return bytes(response.SerializeToString())


def _decoded(makers: Iterable[Callable[[], RawRecord]]) -> Decoded:
    decoded = Decoded()
    try:
        for make in _limited(makers):
            _add_record(decoded, make)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not an OTLP export request in JSON: {str(error)[:200]}") from None
    return decoded


def _limited(makers: Iterable[Callable[[], RawRecord]]) -> Iterator[Callable[[], RawRecord]]:
    for number, make in enumerate(makers):
        if number >= MAX_RECORDS:
            raise BadRequest(_TOO_MANY_RECORDS)
        yield make


def _add_record(decoded: Decoded, make: Callable[[], RawRecord]) -> None:
    try:
        record = bounded(make())
        record.resource = _bounded_resource(decoded, record.resource)
    except (Rejected, Malformed) as reason:
        decoded.rejected[str(reason)] += 1
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        decoded.rejected[f"malformed ({type(error).__name__})"] += 1
    else:
        decoded.cut += CUT in record.attributes or CUT in record.resource
        decoded.records.append(record)


def bounded(record: RawRecord) -> RawRecord:
    """The record within all bounds but those of its resource; raises a ValueError that says what is wrong with it."""
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


def _bounded_resource(decoded: Decoded, resource: JsonObject) -> JsonObject:
    found = decoded.resources.get(id(resource))
    if found is not None:
        return found[1]
    if len(resource) > _MAX_ATTRIBUTES:
        raise Rejected(f"its resource has more than {_MAX_ATTRIBUTES} attributes")
    cutter = _Cutter(left=MAX_RESOURCE)
    kept = cutter.object(resource)
    if cutter.cut:
        kept[CUT] = cutter.cut
    decoded.resources[id(resource)] = resource, kept
    return kept


def _check_ids(record: RawRecord) -> None:
    needed = record.kind == "span"
    for name, raw, digits in (("trace id", record.trace_id, 32), ("span id", record.span_id, 16)):
        if not raw and not needed:
            continue
        if len(raw) != digits or not _is_hex(raw) or not raw.strip("0"):
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
        if depth > _MAX_DEPTH_OF_VALUE:
            raise Rejected(f"a value is nested more than {_MAX_DEPTH_OF_VALUE} levels deep")
        self.values -= 1
        if self.values < 0:
            raise Rejected(TOO_MANY)
        match value:
            case str():
                return self.text(value)
            case dict():
                return self.object(value, depth + 1)
            case list():
                return [self.value(item, depth + 1) for item in value]
            case float() if not math.isfinite(value):
                return str(value)
            case int() if not _MIN_INT <= value < _MAX_INT:
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
