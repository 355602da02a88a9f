"""OTLP in JSON: ids in hexadecimal digits, 64-bit numbers as text, enumerations as numbers or names."""

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Literal, NoReturn

from harness.online.record import STATUS_MESSAGE, RawRecord, with_body
from harness.strict_json import NotJson, check_depth, check_values
from harness.values import JsonObject, JsonValue

_MAX_DEPTH: Final = 150
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
    """A function for each record, which raises Malformed where it is none. Raises ValueError for the body."""
    text = body.decode("utf-8")
    try:
        check_values(text, _MAX_VALUES)
    except NotJson as error:
        raise ValueError(f"{error}; send smaller batches") from None
    check_depth(text, _MAX_DEPTH)
    whole = json.loads(text, parse_constant=str)
    outer, inner, records = (
        ("resourceSpans", "scopeSpans", "spans") if signal == "traces" else ("resourceLogs", "scopeLogs", "logRecords")
    )
    if not isinstance(whole, dict) or not isinstance(whole.get(outer, None if whole else []), list):
        raise ValueError(f"expected an object with the list {outer!r}")
    make = _span if signal == "traces" else _log
    for group in whole.get(outer, []):
        raw = group.get("resource") if isinstance(group, dict) else None
        resource = _pairs(raw) if isinstance(raw, dict) else {}
        for scope in _listed(group, inner):
            for record in _listed(scope, records):
                yield partial(make, record, resource) if isinstance(record, dict) else partial(_refuse, records)


def _listed(holder: JsonValue, name: str) -> Iterator[JsonValue]:
    """What the list holds; where there is no such list, one element that is not an object and so is counted."""
    found = holder.get(name) if isinstance(holder, dict) else None
    if isinstance(found, list):
        yield from found
    elif not isinstance(holder, dict) or found is not None or not _KNOWN.issuperset(holder):
        yield None


def _refuse(name: str) -> NoReturn:
    raise Malformed(f"it is not in a list {name!r} of objects")


def _span(span: JsonObject, resource: JsonObject) -> RawRecord:
    attributes = _pairs(span)
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
        start_ns=_whole(span.get("startTimeUnixNano")),
        end_ns=_whole(span.get("endTimeUnixNano")),
        status=_status(fields.get("code")),
        attributes=attributes,
        events=[
            {
                "name": str(event.get("name") or ""),
                "time_ns": _whole(event.get("timeUnixNano")),
                "attributes": _pairs(event),
            }
            for event in _objects(span, "events")
        ],
        resource=resource,
    )


def _log(log: JsonObject, resource: JsonObject) -> RawRecord:
    attributes = _pairs(log)
    at = _whole(log.get("timeUnixNano")) or _whole(log.get("observedTimeUnixNano"))
    return RawRecord(
        kind="log",
        trace_id=_id(log, "traceId"),
        span_id=_id(log, "spanId"),
        name=str(log.get("eventName") or attributes.get("event.name") or ""),
        start_ns=at,
        end_ns=at,
        attributes=with_body(_value(log.get("body")), attributes),
        resource=resource,
    )


def _objects(holder: JsonObject, name: str) -> list[JsonObject]:
    value = holder.get(name)
    if value is None:
        return []
    found = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(found) < len(value):
        raise Malformed("its attributes, values or events are not a list of objects")
    return found


def _pairs(holder: JsonObject, name: str = "attributes") -> JsonObject:
    return {str(pair.get("key", "")): _value(pair.get("value")) for pair in _objects(holder, name)}


def _value(value: JsonValue) -> JsonValue:
    kind, raw = next(iter(value.items()), ("", None)) if isinstance(value, dict) else ("", None)
    match kind:
        case "intValue":
            return _whole(raw, signed=True)
        case "doubleValue":
            return _double(raw)
        case "bytesValue":
            return _bytes(raw)
        case "arrayValue":
            return [_value(item) for item in _objects_or_none(raw, "values")]
        case "kvlistValue":
            return _pairs(raw, "values") if isinstance(raw, dict) else {}
        case _:
            return raw


def _objects_or_none(holder: JsonValue, name: str) -> list[JsonObject]:
    return _objects(holder, name) if isinstance(holder, dict) else []


def _id(holder: JsonObject, name: str) -> str:
    raw = holder.get(name)
    return raw.lower() if isinstance(raw, str) else ""


def _whole(raw: JsonValue, *, signed: bool = False) -> int:
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


def _double(raw: JsonValue) -> JsonValue:
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
