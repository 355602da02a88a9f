"""JSON as it is exchanged with Langfuse: what can be stored, with finite numbers and whole characters."""

import json
import math
from typing import Any

from harness.values import JsonValue


class NoJsonError(ValueError):
    """An answer is no JSON, or holds a number that is not finite."""


def parsed(content: bytes) -> Any:
    """The answer as JSON that can be stored; None for an empty one. Raises NoJsonError."""
    try:
        value = json.loads(content, parse_float=_finite, parse_constant=_finite) if content.strip() else None
        return storable(value)
    except (ValueError, RecursionError) as error:
        raise NoJsonError(str(error)) from None


def is_json(content: bytes) -> bool:
    """Whether it can be read as JSON."""
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def storable(value: JsonValue) -> JsonValue:
    """The value without characters that databases refuse; a number that is not finite becomes a text, as in OTLP."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case str():
            return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
        case list():
            return [storable(one) for one in value]
        case dict():
            return {str(storable(name)): storable(one) for name, one in value.items()}
        case _:
            return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value
