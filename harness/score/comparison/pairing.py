"""What is there set against what is expected, one to one."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def unmatched(got: Sequence[T], expected: Sequence[T], fits: Callable[[T, T], bool]) -> tuple[list[T], list[T]]:
    """The missing expected items and the unexpected items, by a maximum matching.

    `fits` decides whether an actual item (first) matches an expected one (second). A greedy choice of the first match
    would miss valid pairings.
    """
    may = [[place for place, row in enumerate(got) if fits(row, wanted)] for wanted in expected]
    owner: dict[int, int] = {}
    missing = [wanted for index, wanted in enumerate(expected) if not _placed(index, may, owner, set())]
    return missing, [row for place, row in enumerate(got) if place not in owner]


def _placed(index: int, may: Sequence[Sequence[int]], owner: dict[int, int], tried: set[int]) -> bool:
    for place in may[index]:
        if place in tried:
            continue
        tried.add(place)
        if place not in owner or _placed(owner[place], may, owner, tried):
            owner[place] = index
            return True
    return False
