"""Paths into an answer: `items[].price`, where `[]` is any index and `*` any key of a map; empty for the whole
answer.
"""

import re
from collections.abc import Iterator, Sequence

from harness.values import JsonValue

_PLAIN = re.compile(r"[A-Za-z_$@][A-Za-z0-9_$@-]*")
_PART = re.compile(r"\[\]|\['((?:[^'\\]|\\.)*)'\]|\.?(\*|[A-Za-z_$@][A-Za-z0-9_$@-]*)")
ITEM = "[]"
ANY = "*"


def member(path: str, name: str) -> str:
    """The path of an object's member."""
    if name == ANY or _PLAIN.fullmatch(name):
        return f"{path}.{name}" if path else name
    quoted = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"{path}['{quoted}']"


def parts_of(path: str) -> list[str]:
    """`[]` for an item, `*` for any key, or a member's name."""
    parts: list[str] = []
    for found in _PART.finditer(path):
        if found[0] == ITEM:
            parts.append(ITEM)
        elif found[2] is not None:
            parts.append(found[2])
        else:
            parts.append(re.sub(r"\\(.)", r"\1", found[1] or ""))
    return parts


def pointer_to(path: str) -> str:
    """The path as a JSON pointer; any item and any key is `*`."""
    named = ("*" if part == ITEM else part.replace("~", "~0").replace("/", "~1") for part in parts_of(path))
    return "".join(f"/{part}" for part in named)


def lies_below(path: str, above: str) -> bool:
    """Whether `path` is a part of the value at `above`."""
    return path != above and (not above or path.startswith((f"{above}.", f"{above}[")))


def found_at(value: JsonValue, path: str) -> Iterator[tuple[JsonValue, JsonValue]]:
    """Every value at the path, each with the object or list that contains it."""
    yield from _found(value, None, parts_of(path))


def _found(value: JsonValue, holder: JsonValue, parts: Sequence[str]) -> Iterator[tuple[JsonValue, JsonValue]]:
    if not parts:
        yield value, holder
        return
    match value:
        case list() if parts[0] == ITEM:
            for item in value:
                yield from _found(item, value, parts[1:])
        case dict() if parts[0] in value:
            yield from _found(value[parts[0]], value, parts[1:])
        case dict() if parts[0] == ANY:
            for item in value.values():
                yield from _found(item, value, parts[1:])
        case _:
            pass
