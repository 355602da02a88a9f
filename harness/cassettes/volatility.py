"""Compares two answers to one call: which parts differ, and which of these are known to change by themselves."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from harness.jsondiff import differences
from harness.values import plain_name, with_texts

Path = tuple[str, ...]
"""Members and list indexes from the root; a list index as its digits."""


@dataclass(frozen=True, kw_only=True)
class ValueChange:
    """One place in which two JSON values differ."""

    path: Path
    before: JsonValue
    after: JsonValue
    same_shape: bool
    """Whether both are single values of one type; False: a value is missing, added, or of another type."""


_TIMES_AND_TRACES: Final = frozenset(
    {
        "created",
        "createdat",
        "createdon",
        "updated",
        "updatedat",
        "updatedon",
        "modified",
        "modifiedat",
        "lastmodified",
        "lastupdated",
        "lastseen",
        "timestamp",
        "servertime",
        "generatedat",
        "requestedat",
        "respondedat",
        "expiresat",
        "etag",
        "requestid",
        "traceid",
        "spanid",
        "correlationid",
        "durationms",
        "elapsedms",
        "latencyms",
    }
)
_ID_ENDINGS: Final = ("id", "uuid", "guid", "cursor", "nonce")


def decoded(body: bytes) -> JsonValue:
    """The JSON of an answer, else its text."""
    try:
        value: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")
    return value


def json_in(text: str) -> JsonValue:
    """The object or list that a text contains as JSON, as in the answers of MCP servers; None: no JSON."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def unfolded(value: JsonValue) -> JsonValue:
    """The value with each text that is JSON as the parsed object or list."""

    def parsed(text: str) -> JsonValue:
        inner = json_in(text)
        return text if inner is None else unfolded(inner)

    return with_texts(value, parsed)


def changes(before: JsonValue, after: JsonValue, path: Path = ()) -> Iterator[ValueChange]:
    """Every place in which the two differ, in a fixed order; also inside texts that are JSON. True is not 1."""
    for one in differences(before, after):
        inner = (*path, *map(str, one.path))
        old, new = (one.before, one.after) if one.kind == "value" else (None, None)
        if isinstance(old, str) and isinstance(new, str):
            yield from _of_texts(old, new, inner)
        else:
            same_shape = one.kind == "value" and _json_type(old) == _json_type(new)
            yield ValueChange(path=inner, before=one.before, after=one.after, same_shape=same_shape)


def _of_texts(before: str, after: str, path: Path) -> Iterator[ValueChange]:
    old, new = json_in(before), json_in(after)
    inner = [] if old is None or new is None or type(old) is not type(new) else list(changes(old, new, path))
    yield from inner or [ValueChange(path=path, before=before, after=after, same_shape=True)]


def is_time_or_trace(name: str) -> bool:
    """Whether a field of that name holds a time of the server's or names the request, by the names that are common."""
    return plain_name(name) in _TIMES_AND_TRACES


def is_identity(name: str) -> bool:
    """Whether a field of that name holds the identity of something: `id`, `order_id`, `requestId`, `uuid`."""
    plain = plain_name(name)
    if plain in _ID_ENDINGS:
        return True
    return any(name.endswith((f"_{end}", f"-{end}", end.capitalize())) for end in _ID_ENDINGS)


def is_declared(path: Path, pointers: Iterable[str]) -> bool:
    """Whether one of the JSON pointers (`*`: every item or member) names the place, or a parent of it."""
    return any(_leads_to(pointer.split("/")[1:], path) for pointer in pointers)


def _leads_to(parts: list[str], path: Path) -> bool:
    named = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    return len(named) <= len(path) and all(part in ("*", step) for part, step in zip(named, path, strict=False))


def _json_type(value: JsonValue) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "text"
        case None:
            return "null"
        case _:
            return "structure"
