"""Calls by what they change: writes with normalised arguments; reads change nothing and are not compared."""

import re
from collections.abc import Sequence
from typing import Final, Protocol

from harness.case import Effect
from harness.simulate.meaning.texts import texts_differ
from harness.values import JsonObject, JsonValue, canonical_json

_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?")
_PROSE_WORDS: Final = 6
"""An argument with more words is a text, and is compared as one."""


class ComparedCall(Protocol):
    """A call of either side."""

    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> JsonObject | None: ...
    @property
    def effect(self) -> Effect: ...
    @property
    def failed(self) -> bool: ...


def calls_differ(then: Sequence[ComparedCall], now: Sequence[ComparedCall]) -> str | None:
    """Why two lists of calls do not change the same; None where they do. The order of writes does not matter."""
    was, is_ = _writes(then), _writes(now)
    unmatched = [call for call in is_ if not _take(was, call)]
    if not unmatched and not was:
        return None
    if not was:
        return f"a write that the log does not hold: {_shown(unmatched[0])}"
    if not unmatched:
        return f"a write of the log is missing: {_shown(was[0])}"
    return f"the log has {_shown(was[0])}, the agent made {_shown(unmatched[0])}"


def _writes(calls: Sequence[ComparedCall]) -> list[ComparedCall]:
    return [call for call in calls if call.effect == "write"]


def _take(left: list[ComparedCall], call: ComparedCall) -> bool:
    for place, other in enumerate(left):
        if other.name == call.name and other.failed == call.failed and same_arguments(other.arguments, call.arguments):
            del left[place]
            return True
    return False


def same_arguments(then: JsonObject | None, now: JsonObject | None) -> bool:
    """Whether two sets of arguments are the same after normalisation: case, spaces, 2 and "2", absent and null."""
    if then is None or now is None:
        return then is now
    was, is_ = normalised(then), normalised(now)
    if was == is_:
        return True
    if not isinstance(was, dict) or not isinstance(is_, dict) or was.keys() != is_.keys():
        return False
    return all(was[name] == is_[name] or _same_prose(was[name], is_[name]) for name in was)


def _same_prose(then: JsonValue, now: JsonValue) -> bool:
    if not isinstance(then, str) or not isinstance(now, str):
        return False
    long = len(then.split()) > _PROSE_WORDS and len(now.split()) > _PROSE_WORDS
    return long and texts_differ(then, now) is None


def normalised(value: JsonValue) -> JsonValue:
    """A value without what does not matter: upper case, outer spaces, absent members, numbers as texts."""
    match value:
        case str():
            text = " ".join(value.split()).casefold()
            return _as_number(float(text)) if _NUMBER.fullmatch(text) else text
        case float():
            return _as_number(value)
        case list():
            return [normalised(item) for item in value]
        case dict():
            return {name: normalised(item) for name, item in value.items() if item is not None}
        case _:
            return value


def _as_number(value: float) -> JsonValue:
    return int(value) if abs(value) < 1e15 and value == int(value) else value


def _shown(call: ComparedCall) -> str:
    arguments = "?" if call.arguments is None else canonical_json(call.arguments)
    return f"{call.name}({arguments})"[:300]
