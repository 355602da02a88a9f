"""Delta debugging: the smallest part of a list that still has a property (Zeller and Hildebrandt, 2002, `ddmin`)."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Part = TypeVar("Part")
Holds = Callable[[Sequence[Sequence[Part]]], list[bool]]
"""Whether each of several candidate lists has the property; they may be tried side by side."""


def smallest(parts: Sequence[Part], holds: Holds[Part], at_once: int = 1) -> tuple[Part, ...]:
    """A 1-minimal sub-list that has the property, in the given order: no single part of it can be left out.

    `at_once`: how many candidates are asked for together; none is asked for after one that has the property. `parts`
    itself must have the property.
    """
    current, pieces = list(parts), 2
    if not current:
        return ()
    while True:
        chunks = _split(current, min(pieces, len(current)))
        kept = [chunk for chunk in chunks if len(chunk) < len(current)]
        rests = [[one for one in current if all(one is not other for other in chunk)] for chunk in kept]
        candidates = kept + (rests if len(chunks) > 2 else [])
        if len(current) == 1:
            candidates = [[]]
        found = _first(candidates, holds, at_once)
        if found is not None:
            pieces = 2 if found in kept else max(pieces - 1, 2)
            current = found
            if not current:
                return ()
        elif pieces >= len(current):
            return tuple(current)
        else:
            pieces = min(len(current), pieces * 2)


def _first(candidates: Sequence[list[Part]], holds: Holds[Part], at_once: int) -> list[Part] | None:
    """The first that has the property."""
    for start in range(0, len(candidates), at_once):
        chunk = candidates[start : start + at_once]
        found = next((one for one, answer in zip(chunk, holds(chunk), strict=True) if answer), None)
        if found is not None:
            return found
    return None


def _split(parts: list[Part], pieces: int) -> list[list[Part]]:
    size, more = divmod(len(parts), pieces)
    chunks, start = [], 0
    for number in range(pieces):
        end = start + size + (number < more)
        chunks.append(parts[start:end])
        start = end
    return [chunk for chunk in chunks if chunk]
