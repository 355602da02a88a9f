"""JSON as the standard has it, within bounds: what Python's reader lets pass and others could not read is refused here.

Whatever passes can be walked, compared, converted and stored: numbers fit a float's range, no text nests so deep
that a reader or a writer exceeds the stack, and none holds so many values that reading it takes long or much memory.
"""

import json
import math
import re
from array import array
from collections import Counter
from itertools import accumulate

from harness.values import JsonObject, JsonValue

MAX_DEPTH = 100
MAX_VALUES = 500_000
"""Objects, lists and commas of one text: a list of three bytes takes 64 when it is read, and no other task of the event
loop runs meanwhile.
"""
MAX_DIGITS = 308
"""Of an integer: longer ones exceed a float, so that comparing them with one raises."""

_BLANKS = 1000
_FEW = 10_000
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_OPENING, _CLOSING = b"[{", b"]}"
_STEPS = bytes.maketrans(_OPENING + _CLOSING, b"\x01\x01\xff\xff")
"""A bracket as the signed byte by which it changes the depth."""
_NO_BRACKETS = bytes(set(range(256)) - {*_OPENING, *_CLOSING})


class NotJson(ValueError):
    """The text is not JSON; the message gives the reason."""


class ExceedsBounds(NotJson):
    """The text may be JSON for others: it nests too deep, or has too many values."""


def parse_json(raw: bytes, *, once: bool = False) -> JsonValue:
    """The value of a JSON text in UTF-8.

    Raises NotJson, also for NaN, infinities, numbers past a float's range, lone surrogates, more than 100 levels, and
    more than 500,000 values; with `once` for a name that an object has twice, which readers understand differently.
    """
    try:
        text = raw.decode("utf-8")
        check_values(text)
        check_depth(text)
        value: JsonValue = (_READER_ONCE if once else _READER).decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails for half of a surrogate pair
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 (at byte {error.start})") from None
    except UnicodeEncodeError:
        raise NotJson("half of a surrogate pair in a string") from None
    except NotJson:
        raise
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    return value


def check_values(text: str, most: int = MAX_VALUES) -> None:
    """Raises NotJson where more than `most` objects, lists and commas stand outside of strings; takes linear time."""
    if sum(map(text.count, "{[,")) > most and not _has_at_most(text, most):
        raise ExceedsBounds(f"more than {most} objects, lists and commas")


def values_in(raw: bytes) -> int:
    """How many objects, lists and commas a text holds that may be JSON, as `parse_json` counts them; more than
    MAX_VALUES where it would be refused for them, and 0 where it begins like none of them.
    """
    if raw[:_BLANKS].lstrip()[:1] not in (b"{", b"["):
        return 0
    found = sum(map(raw.count, (b"{", b"[", b",")))
    if found <= _FEW:
        return found
    outside, strings = _STRING.subn("", raw.decode("latin-1"), count=2 * MAX_VALUES + 2)
    return max(sum(map(outside.count, "{[,")), strings // 2)


def _has_at_most(text: str, most: int) -> bool:
    # Each string is a name or a value, so that more of them than twice the limit exceed it, too: no need to go on.
    outside, strings = _STRING.subn("", text, count=2 * most + 2)
    return strings <= 2 * most + 1 and sum(map(outside.count, "{[,")) <= most


def check_depth(text: str, most: int = MAX_DEPTH) -> None:
    """Raises NotJson where brackets outside of strings nest more than `most` levels deep; takes linear time."""
    if text.count("[") + text.count("{") <= most:
        return
    brackets = _STRING.sub("", text).encode("ascii", "replace").translate(_STEPS, _NO_BRACKETS)
    if 2 * brackets.count(1) < len(brackets):
        raise NotJson("more brackets are closed than opened")
    if max(accumulate(array("b", brackets)), default=0) > most:
        raise ExceedsBounds(f"nested more than {most} levels deep")


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
