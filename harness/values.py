"""The immutable base of every stored value, and the canonical form that digests are taken of."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

__all__ = [
    "Frozen",
    "JsonObject",
    "JsonValue",
    "canonical_json",
    "compact_json",
    "digest_of",
    "digest_of_text",
    "is_canonical",
    "sorted_json",
    "spaced_json",
]

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


sorted_json = _encoding(separators=(",", ":"), sort_keys=True, allow_nan=False)
"""The canonical form but for integral floats; raises ValueError for NaN and infinities."""

compact_json = _encoding(separators=(",", ":"), sort_keys=False, allow_nan=True)
"""`json.dumps` without spaces, all characters as they are."""
spaced_json = _encoding(separators=(", ", ": "), sort_keys=False, allow_nan=True)
"""`json.dumps` with its own spaces, all characters as they are."""


def _float_text(value: float) -> str:
    return int.__repr__(int(value)) if value.is_integer() else sorted_json(value)


_SCALARS: Mapping[type, Callable[[Any], str]] = {
    str: sorted_json,  # what looks like a number in it is none
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
    """The fast path, correct where no float is integral; None where keys are not texts, which are sorted
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
