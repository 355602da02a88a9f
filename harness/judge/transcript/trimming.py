"""Shortens large payloads to their relevant parts: the records and lines that the user or a later step mentions.

A payload is made of records: the items of a long list, the members of a large object of objects, the lines of a long
text. A record is kept where it contains a word that the user or a later step used and that only few records contain;
the first two are always kept, to show the shape. Objects keep all their other fields. The number of omitted parts is
shown in their place.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from harness.strict_json import parse_json
from harness.values import JsonValue

T = TypeVar("T")

SMALL: Final = 1200
"""Payloads up to this length are shown whole."""
_LONG: Final = 400
_SHOWN_ALWAYS: Final = 2
_MANY: Final = 4
_LINE: Final = 200
_WORD: Final = re.compile(r"[^\W_](?:[\w.\-]*\w)?")
_SCHEMA_KEYS: Final = frozenset({"$schema", "$defs", "additionalProperties"})


def words(text: str) -> set[str]:
    """Words, numbers and ids, in lower case; `12.50` and `#W123` are one word each."""
    return set(_WORD.findall(text.lower()))


def compact(content: JsonValue) -> JsonValue:
    """Removes null fields and JSON Schemas, and parses JSON inside texts. Empty lists are kept: they mean "nothing"."""
    if isinstance(content, str):
        return _read(content)
    return _cleaned(content)


def shown(value: JsonValue) -> str:
    """Texts unchanged, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def trimmed(value: JsonValue, used: set[str]) -> JsonValue:
    """`value` with only the records that contain distinctive words of `used`."""
    match value:
        case dict() if len(value) > 2 * _MANY and all(isinstance(item, dict) for item in value.values()):
            kept, left = _kept(list(value.items()), lambda item: f"{item[0]} {shown(item[1])}", used)
            found: dict[str, JsonValue] = {key: trimmed(item, used) for key, item in kept}
            return found | ({"…": _left_out(left, len(value))} if left else {})
        case dict():
            return {key: trimmed(item, used) for key, item in value.items()}
        case list() if len(value) > _MANY and len(shown(value)) > _LONG:
            items, left = _kept(value, shown, used)
            rest: list[JsonValue] = [_left_out(left, len(value))] if left else []
            return [trimmed(item, used) for item in items] + rest
        case list():
            return [trimmed(item, used) for item in value]
        case str() if len(value) > 2 * _LONG:
            lines = _lines(value)
            kept_lines, left = _kept(lines, str, used)
            return "\n".join(kept_lines) + (f"\n{_left_out(left, len(lines))}" if left else "")
        case _:
            return value


def _kept(records: Sequence[T], text: Callable[[T], str], used: set[str]) -> tuple[list[T], int]:
    """The kept records, in order, and the number of omitted ones."""
    words_by_record = [words(text(record)) & used for record in records]
    spread = Counter(word for record_words in words_by_record for word in record_words)
    few = max(2, len(records) // 5)
    telling = {word for word, count in spread.items() if count <= few and len(word) > 1}
    kept = [
        record
        for place, record in enumerate(records)
        if place < _SHOWN_ALWAYS or not telling.isdisjoint(words_by_record[place])
    ]
    return kept, len(records) - len(kept)


def _left_out(left: int, of: int) -> str:
    return f"[{left} of {of} left out: nothing later used them]"


def _lines(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > _MANY:
        return lines
    return re.findall(rf".{{1,{_LINE}}}(?:\s|$)|\S{{{_LINE},}}", text, flags=re.DOTALL) or [text]


def _read(text: str) -> JsonValue:
    if text[:1] not in ("{", "["):
        return text
    try:
        value = parse_json(text.encode("utf-8"))
    except ValueError:  # NotJson, or half of a surrogate pair
        return text
    return _cleaned(value)


def _cleaned(value: JsonValue) -> JsonValue:
    match value:
        case dict() if isinstance(value.get("properties"), dict) and (
            "$schema" in value or value.get("type") == "object"
        ):
            return "[a JSON Schema]"
        case dict():
            return {key: _cleaned(item) for key, item in value.items() if item is not None and key not in _SCHEMA_KEYS}
        case list():
            return [_cleaned(item) for item in value]
        case _:
            return value
