"""The immutable base of every stored value, its canonical form, and JSON as the standard has it."""

import hashlib
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

# The immutable base of every stored value, and the canonical form that digests are taken of.

JsonObject = dict[str, JsonValue]

_INTEGRAL_FLOAT = re.compile(r"(?:^|[:\[,])-?\d+(?:\.0(?:[,\]}]|$)|(?:\.\d+)?e\+)")
"""Matches every integral float in compact JSON, and some similar texts: those cost time, but do not change
the result.
"""


class Frozen(BaseModel):
    """A stored value: immutable, and a field that it does not know is an error, not a silent loss.

    Its validator is built when it is first needed: a command uses few of the several hundred models that it imports.
    Threads may need one at the same time, which pydantic allows from 2.14 on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", defer_build=True)


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no spaces; integral floats become integers, so 1.0 and 1 are one value.

    True and 1 stay two values. Raises ValueError for NaN and infinities, which JSON does not have.
    """
    quick = _SCALARS.get(type(value))
    if quick is not None:
        return quick(value)
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    text = _sorted_as_it_is(plain)
    if text is None:
        return sorted_json(_canonical(plain))
    return text if is_canonical(text) else sorted_json(_read_back(text))


def _encoding(*, separators: tuple[str, str], sort_keys: bool, allow_nan: bool) -> Callable[[object], str]:
    """`JSONEncoder.encode` makes an encoder in C for each value, which takes longer than to encode most of them."""
    encoder = json.JSONEncoder(
        sort_keys=sort_keys, separators=separators, ensure_ascii=False, allow_nan=allow_nan, check_circular=False
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    between, after_name = separators
    texts = json.encoder.encode_basestring
    parts = make(None, encoder.default, texts, None, after_name, between, sort_keys, False, allow_nan)
    return lambda value: texts(value) if isinstance(value, str) else "".join(parts(value, 0))


json_text: Callable[[str], str] = json.encoder.encode_basestring
"""A text as JSON, all characters as they are."""
sorted_json = _encoding(separators=(",", ":"), sort_keys=True, allow_nan=False)
"""The canonical form but for integral floats; raises ValueError for NaN and infinities."""

compact_json = _encoding(separators=(",", ":"), sort_keys=False, allow_nan=True)
"""`json.dumps` without spaces, all characters as they are."""
spaced_json = _encoding(separators=(", ", ": "), sort_keys=False, allow_nan=True)
"""`json.dumps` with its own spaces, all characters as they are."""


def _float_text(value: float) -> str:
    return int.__repr__(int(value)) if value.is_integer() else sorted_json(value)


_SCALARS: Mapping[type, Callable[[Any], str]] = {
    str: json_text,  # what looks like a number in it is none
    int: int.__repr__,
    float: _float_text,
    type(None): lambda _: "null",
}
"""What writes a value of exactly that type."""


def digest_of(value: object) -> str:
    """Sha-256 of the canonical form, 64 hexadecimal digits."""
    return digest_of_text(canonical_json(value))


def digest_of_text(text: str) -> str:
    """Sha-256 of text that is in the canonical form already."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _sorted_as_it_is(value: object) -> str | None:
    """The fast path, correct if no float is integral; None if keys are not texts, which are sorted
    differently.
    """
    if isinstance(value, dict) and not {*map(type, value)} <= {str}:
        return None
    try:
        return sorted_json(value)
    except TypeError:
        return None


def is_canonical(text: str) -> bool:
    """Whether a text of `sorted_json` is the canonical form: it has no integral float."""
    # Plain substrings first: they are found many times quicker, and most texts have none of them.
    if "e+" not in text and ".0" not in text:
        return True
    if ".0," in text or ".0}" in text or ".0]" in text or "e+" in text or text.endswith(".0"):
        return _INTEGRAL_FLOAT.search(text) is None
    return True


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


_read_back = json.JSONDecoder(parse_float=_number).decode
"""JSON with integral floats as integers: several times quicker than going through the value."""


def _canonical(value: object) -> object:
    if isinstance(value, str | int) or value is None:  # the most frequent types, and the fastest check
        return value
    if isinstance(value, dict):
        return {str(key): _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


# JSON as the standard has it, within bounds: what Python's reader lets pass and others could not read is refused
# here.
#
# Whatever passes can be walked, compared, converted and stored: numbers fit a float's range, no text nests so deep
# that a reader or a writer exceeds the stack, and none holds so many values that reading it takes long or much
# memory.

MAX_DEPTH = 100
MAX_VALUES = 500_000
"""Objects, lists and commas of one text: a list of three bytes takes 64 when it is read, and no other task of the event
loop runs meanwhile.
"""
MAX_DIGITS = 308
"""Of an integer: longer ones exceed a float, so that comparing them with one raises."""

JSON_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A string of JSON, or the rest of a text that ends within one."""
_OPENING, _CLOSING = b"[{", b"]}"
_STEPS = bytes.maketrans(_OPENING + _CLOSING, b"\x01\x01\xff\xff")
"""A bracket as the signed byte by which it changes the depth."""
_NO_BRACKETS = bytes(set(range(256)) - {*_OPENING, *_CLOSING})


class NotJson(ValueError):
    """The text is not JSON; the message gives the reason."""


class ExceedsBounds(NotJson):
    """The text may be JSON for others: it nests too deep, or has too many values."""


_THOUGHTS = re.compile(r"\A(?!\s*[{`]).*</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```\w*\s*(.*?)\s*```\s*\Z", re.DOTALL)


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


def written_json(text: str) -> JsonValue:
    """The JSON that a model wrote as its whole answer; the thoughts before it, up to the last `</think>`, and a code
    fence around it are removed. Prose is not searched for it, because it may repeat what it was shown. Raises
    NotJson, also for a name that is given twice: the choice between its values would be arbitrary.
    """
    text = _THOUGHTS.sub("", text)
    fenced = _FENCE.match(text)
    return parse_json((text if fenced is None else fenced[1]).encode("utf-8", "replace"), once=True)


def check_values(text: str, most: int = MAX_VALUES) -> None:
    """Raises NotJson if more than `most` objects, lists and commas are outside of strings; takes linear time."""
    if sum(map(text.count, "{[,")) > most and not _has_at_most(text, most):
        raise ExceedsBounds(f"more than {most} objects, lists and commas")


def _has_at_most(text: str, most: int) -> bool:
    # Each string is a name or a value, so that more of them than twice the limit exceed it, too: no need to go on.
    outside, strings = JSON_STRING.subn("", text, count=2 * most + 2)
    return strings <= 2 * most + 1 and sum(map(outside.count, "{[,")) <= most


def check_depth(text: str, most: int = MAX_DEPTH) -> None:
    """Raises NotJson if brackets outside of strings nest more than `most` levels deep; takes linear time."""
    if text.count("[") + text.count("{") <= most:
        return
    brackets = JSON_STRING.sub("", text).encode("ascii", "replace").translate(_STEPS, _NO_BRACKETS)
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


def with_texts(value: JsonValue, change: Callable[[str], JsonValue], *, names: bool = False) -> JsonValue:
    """The value with each of its texts changed; `names`: also those of its members."""
    match value:
        case str():
            return change(value)
        case list():
            return [with_texts(item, change, names=names) for item in value]
        case dict():
            changed = (str(change(name)) for name in value) if names else value
            return {
                name: with_texts(item, change, names=names) for name, item in zip(changed, value.values(), strict=True)
            }
        case _:
            return value


def object_of(value: JsonValue) -> JsonObject:
    """An object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects_of(value: JsonValue) -> list[JsonObject]:
    """The objects of a list; none for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def some_text(value: JsonValue) -> str | None:
    """A text; None for anything else, and for an empty one."""
    return value if isinstance(value, str) and value else None


def plain_name(name: str) -> str:
    """The name in lower case without hyphens and underscores."""
    return name.replace("_", "").replace("-", "").lower()
