"""The recordings nearest to a call that a cassette cannot answer, so that a miss explains itself."""

import json
from collections.abc import Iterator

from harness.cassette.cassette import Cassette
from harness.cassette.keys import CallKey
from harness.cassette.recording import Recording
from harness.cassette.volatility import json_in
from harness.values import Frozen, JsonObject, JsonValue

_SHOWN = 3
_LONGEST = 1000
"""Characters of a value that are shown."""
_CONTEXT = 40
"""Characters before the first difference of two long texts."""
_LOOKED_AT = 500
"""The number of different arguments that are compared at most: a miss on a large cassette must not delay the other
trials.
"""


class Nearest(Frozen):
    """A recording similar to the call, and how it differs."""

    tool: str
    arguments: JsonValue
    difference: str
    """The first differing JSON path with both values, or that only the writes before differ."""


def nearest(cassette: Cassette, call: CallKey) -> tuple[Nearest, ...]:
    """At most three recordings of the same tool, the most similar first."""
    candidates: dict[str, Recording] = {}
    for recording in cassette.of_tool(call.tool):
        candidates.setdefault(recording.mark.key, recording)
        if len(candidates) == _LOOKED_AT:
            break
    if cassette.holds_key(call.key):
        same = next(item for item in cassette.of_tool(call.tool) if item.mark.key == call.key)
        candidates[call.key] = same
    wanted = json.loads(call.arguments)
    ranked = sorted((_compared(wanted, recording) for recording in candidates.values()), key=lambda ranks: ranks[:2])
    return tuple(
        Nearest(tool=call.tool, arguments=arguments, difference=difference)
        for _, _, arguments, difference in ranked[:_SHOWN]
    )


def _compared(wanted: JsonValue, recording: Recording) -> tuple[int, str, JsonValue, str]:
    arguments = json.loads(recording.arguments)
    found = list(differences(wanted, arguments))
    first = found[0] if found else "the same arguments, but after other writes"
    return len(found), recording.arguments, arguments, first


def differences(here: JsonValue, recorded: JsonValue, path: str = "$") -> Iterator[str]:
    """Every differing JSON path with both values, in a fixed order. True is not 1."""
    match here, recorded:
        case dict(), dict():
            yield from _in_objects(here, recorded, path)
        case list(), list():
            for index, (left, right) in enumerate(zip(here, recorded, strict=False)):
                yield from differences(left, right, f"{path}[{index}]")
            if len(here) != len(recorded):
                yield f"{path}: {len(here)} items here, {len(recorded)} in the recording"
        case str(), str() if here != recorded:
            yield from _in_texts(here, recorded, path)
        case _:
            if here != recorded or isinstance(here, bool) != isinstance(recorded, bool):
                yield f"{path}: {_short(here)} here, {_short(recorded)} in the recording"


def _in_objects(here: JsonObject, recorded: JsonObject, path: str) -> Iterator[str]:
    for name in sorted({*here, *recorded}):
        inner = f"{path}.{name}"
        if name not in recorded:
            yield f"{inner}: {_short(here[name])} here, absent in the recording"
        elif name not in here:
            yield f"{inner}: absent here, {_short(recorded[name])} in the recording"
        else:
            yield from differences(here[name], recorded[name], inner)


def _in_texts(here: str, recorded: str, path: str) -> Iterator[str]:
    """The differences of two texts that contain JSON, such as a tool's answer in a message; of others, from the first
    different character on.
    """
    plain, other = json_in(here), json_in(recorded)
    if plain is not None and other is not None and plain != other:
        yield from (f"{path}, as JSON: {difference}" for difference in differences(plain, other))
        return
    pairs = enumerate(zip(here, recorded, strict=False))
    begins = next((at for at, (one, other) in pairs if one != other), min(len(here), len(recorded)))
    if begins <= _CONTEXT or max(len(here), len(recorded)) <= _LONGEST:
        yield f"{path}: {_short(here)} here, {_short(recorded)} in the recording"
        return
    cut = begins - _CONTEXT
    yield f"{path}, from character {cut}: {_short(here[cut:])} here, {_short(recorded[cut:])} in the recording"


def _short(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
