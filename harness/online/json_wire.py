"""OTLP in JSON: ids in hexadecimal digits, 64-bit numbers as text, enumerations as numbers or names."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Literal

from harness.online.record import STATUS_MESSAGE, Arrived, with_body
from harness.strict_json import check_depth
from harness.values import JsonObject, JsonValue

_MAX_DEPTH: Final = 150
"""Of the text: a value of 32 levels nests four levels for each, and ten above them."""
_STATUS: Final = {0: "unset", 1: "ok", 2: "error"}


def json_records(signal: Literal["traces", "logs"], body: bytes) -> Iterator[Callable[[], Arrived]]:
    """A function for each record, which raises where that record is malformed. Raises ValueError for the body."""
    text = body.decode("utf-8")
    check_depth(text, _MAX_DEPTH)
    whole = json.loads(text, parse_constant=str)
    outer, inner, records = (
        ("resourceSpans", "scopeSpans", "spans") if signal == "traces" else ("resourceLogs", "scopeLogs", "logRecords")
    )
    if not isinstance(whole, dict) or not isinstance(whole.get(outer, []), list):
        raise ValueError(f"expected an object with the list {outer!r}")
    make = _span if signal == "traces" else _log
    for group in _objects(whole, outer):
        told = group.get("resource")
        resource = _pairs(told) if isinstance(told, dict) else {}
        for scope in _objects(group, inner):
            for record in _objects(scope, records):
                yield partial(make, record, resource)


def _span(span: JsonObject, resource: JsonObject) -> Arrived:
    attributes = _pairs(span)
    status = span.get("status")
    told = status if isinstance(status, dict) else {}
    if told.get("message"):
        attributes[STATUS_MESSAGE] = str(told["message"])
    return Arrived(
        kind="span",
        trace_id=_id(span, "traceId"),
        span_id=_id(span, "spanId"),
        parent_id=_id(span, "parentSpanId"),
        name=str(span.get("name") or ""),
        start_ns=_whole(span.get("startTimeUnixNano")),
        end_ns=_whole(span.get("endTimeUnixNano")),
        status=_status(told.get("code")),
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


def _log(log: JsonObject, resource: JsonObject) -> Arrived:
    attributes = _pairs(log)
    at = _whole(log.get("timeUnixNano")) or _whole(log.get("observedTimeUnixNano"))
    return Arrived(
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
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _pairs(holder: JsonObject, name: str = "attributes") -> JsonObject:
    return {str(pair.get("key", "")): _value(pair.get("value")) for pair in _objects(holder, name)}


def _value(value: JsonValue) -> JsonValue:
    kind, told = next(iter(value.items()), ("", None)) if isinstance(value, dict) else ("", None)
    match kind:
        case "intValue":
            return _whole(told, signed=True)
        case "arrayValue":
            return [_value(item) for item in _objects_or_none(told, "values")]
        case "kvlistValue":
            return _pairs(told, "values") if isinstance(told, dict) else {}
        case _:
            return told


def _objects_or_none(holder: JsonValue, name: str) -> list[JsonObject]:
    return _objects(holder, name) if isinstance(holder, dict) else []


def _id(holder: JsonObject, name: str) -> str:
    told = holder.get(name)
    return told.lower() if isinstance(told, str) else ""


def _whole(told: JsonValue, *, signed: bool = False) -> int:
    if told is None:
        return 0
    text = str(told)
    if len(text) > 20:
        raise ValueError("a number has more than 64 bits")
    value = int(text)
    if not (-(1 << 63) if signed else 0) <= value < 1 << 64:
        raise ValueError("a number has more than 64 bits")
    return value


def _status(code: JsonValue) -> str:
    if isinstance(code, int):
        return _STATUS.get(code, "unset")
    found = str(code or "unset").removeprefix("STATUS_CODE_").lower()
    return found if found in _STATUS.values() else "unset"
