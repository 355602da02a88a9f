"""JSON as the standard has it: what Python's reader lets pass and no one else could read is refused here."""

import json
import math

from harness.frozen import JsonObject, JsonValue

MAX_DEPTH = 100


class NotJson(ValueError):
    """The text is not JSON; the message says why."""


def parse_json(raw: bytes, *, once: bool = False) -> JsonValue:
    """The value of a JSON text in UTF-8.

    Raises NotJson, also for NaN, infinities, numbers past a float's range, lone surrogates, and more than 100 levels;
    with `once` for a name that an object has twice, which readers understand differently.
    """
    try:
        text = raw.decode("utf-8")
        _check_depth(text)
        value: JsonValue = json.loads(
            text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_each_once if once else None
        )
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails for half of a surrogate pair
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 (at byte {error.start})") from None
    except UnicodeEncodeError:
        raise NotJson("half of a surrogate pair in a string") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    return value


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth, in_string, escaped = 0, False, False
    for sign in text:
        if in_string:
            in_string, escaped = escaped or sign != '"', sign == "\\" and not escaped
        elif sign == '"':
            in_string = True
        else:
            depth += (sign in "[{") - (sign in "]}")
            if depth > MAX_DEPTH:
                raise NotJson(f"nested more than {MAX_DEPTH} levels deep")


def _each_once(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotJson(f"an object has the name {twice[:100]!r} more than once")
    return made


def _no_constant(name: str) -> float:
    raise NotJson(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NotJson(f"the number {text[:40]} is out of range")
    return number
