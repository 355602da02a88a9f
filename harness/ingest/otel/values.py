"""OTLP's typed values as plain JSON, and the other way round."""

from collections.abc import Iterable

from harness.ingest.reading import Record
from harness.values import JsonObject, JsonValue

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
            return _whole(value, name, found)
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


def _whole(value: Record, name: str, digits: str) -> int:
    if len(digits) > 20 or not digits.removeprefix("-").isdecimal() or not digits.isascii():
        raise value.refusal(name, f"{digits[:40]!r} is no 64-bit number")
    return int(digits)
