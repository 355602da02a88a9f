"""Comparing JSON values: equality that keeps True and 1 apart, "contains", and the place a pointer names.

Python's own `==` treats True and 1 as equal; here 1 and 1.0 are one number, and a truth value never equals a number.
"""

import json
from collections.abc import Iterable

from harness.score.comparison.pairing import unmatched
from harness.values import JsonValue, canonical_json


class PointerNotFound(LookupError):
    """A pointer leads to nothing."""


MAX_DEPTH = 100


def parsed_json(text: str) -> JsonValue:
    """The value of a text that an agent has written. Raises ValueError, also for more than 100 levels."""
    try:
        value: JsonValue = json.loads(text)
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep") from None
    level: list[JsonValue] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [part for one in level for part in _parts(one)]
        if not level:
            return value
    raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")


def _parts(value: JsonValue) -> Iterable[JsonValue]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def equality_key(value: JsonValue) -> str:
    """Two values are equal exactly when their keys are; never raises, NaN being equal to itself."""
    try:
        return canonical_json(value)
    except ValueError:  # NaN or an infinity: no JSON, yet an agent can send it
        return "not JSON: " + repr(value)


def json_equal(left: JsonValue, right: JsonValue) -> bool:
    return equality_key(left) == equality_key(right)


def json_contains(actual: JsonValue, expected: JsonValue) -> bool:
    """An object holds the expected members, a list a different element for each expected one, a text the part.

    Anything else must be equal. Order in a list does not matter.
    """
    match actual, expected:
        case dict(), dict():
            return all(key in actual and json_contains(actual[key], part) for key, part in expected.items())
        case list(), list():
            return not unmatched(actual, expected, json_contains)[0]
        case str(), str():
            return expected in actual
        case _:
            return json_equal(actual, expected)


def at_pointer(value: JsonValue, pointer: str) -> JsonValue:
    """The value at a JSON pointer (`/items/0/id`, RFC 6901; empty for the whole value). Raises Absent."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        match value:
            case dict() if key in value:
                value = value[key]
            case list() if key.isascii() and key.isdigit() and int(key) < len(value):
                value = value[int(key)]
            case _:
                raise PointerNotFound(f"nothing stands at {pointer!r} (missing: {key!r})")
    return value
