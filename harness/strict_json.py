"""JSON as the standard has it, within bounds: what Python's reader lets pass and others could not read is refused here.

Whatever passes can be walked, compared, converted and stored: numbers fit a float's range, and no text nests so deep
that a reader or a writer exceeds the stack.
"""

import json
import math
import re
from collections import Counter

from harness.values import JsonObject, JsonValue

MAX_DEPTH = 100
MAX_DIGITS = 308
"""Of an integer: longer ones exceed a float, so that comparing them with one raises."""

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


class NotJson(ValueError):
    """The text is not JSON; the message gives the reason."""


def parse_json(raw: bytes, *, once: bool = False) -> JsonValue:
    """The value of a JSON text in UTF-8.

    Raises NotJson, also for NaN, infinities, numbers past a float's range, lone surrogates, and more than 100 levels;
    with `once` for a name that an object has twice, which readers understand differently.
    """
    try:
        text = raw.decode("utf-8")
        check_depth(text)
        value: JsonValue = (_READER_ONCE if once else _READER).decode(text)
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


def check_depth(text: str, most: int = MAX_DEPTH) -> None:
    """Raises NotJson where brackets outside of strings nest more than `most` levels deep; takes linear time."""
    if text.count("[") + text.count("{") <= most:
        return
    depth = 0
    for found in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if found[0] in "[{" else -1
        if depth > most:
            raise NotJson(f"nested more than {most} levels deep")


def count_outside_strings(text: str, chars: str) -> int:
    """How often the characters stand outside of the text's strings; takes linear time."""
    outside = _STRING.sub("", text)
    return sum(map(outside.count, chars))


def _each_once(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    made = dict(pairs)
    if len(made) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise NotJson(f"an object has the name {twice[:100]!r} more than once")
    return made


def _no_constant(name: str) -> float:
    raise NotJson(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NotJson(f"the number {text[:40]} is out of range")
    return number


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise NotJson(f"the number {text[:40]}… has more than {MAX_DIGITS} digits")
    return int(text)


_READER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite, parse_int=_whole)
"""Made once: making one takes longer than reading a tool's arguments with it."""
_READER_ONCE = json.JSONDecoder(
    parse_constant=_no_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_each_once
)
