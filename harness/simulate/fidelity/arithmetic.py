"""Amounts that a user worked out from others: what a sum, a difference or a share of known ones comes to."""

from collections.abc import Set
from itertools import combinations
from typing import Final

_MOST: Final = 12
"""Amounts that are combined; a message with more of them is a list, and no calculation."""
_SHARES: Final = range(2, 10)


def worked_out(said: Set[str], known: Set[str], heard: Set[str]) -> set[str]:
    """Those of the amounts `said` in one message that two or three known ones come to.

    One of these at least stands in the message too, so that the calculation is the message's own; the others do, or
    stand in `heard`, the reply before it. What was worked out counts as known for the next amount.
    """
    found: set[str] = set()
    beside = {value for value in map(_number, heard) if value is not None}
    while True:
        own = {value for value in map(_number, said & (known | found)) if value is not None}
        new = {
            text
            for text in said - known - found
            if (value := _number(text)) is not None and round(value, 2) in _results(own, beside)
        }
        if not new:
            return found
        found |= new


def _results(own: set[float], beside: set[float]) -> set[float]:
    if not own or len(own) > _MOST:
        return set()
    others = sorted(own | set(sorted(beside)[:_MOST]))
    pairs = {round(sign * one + other, 2) for one in own for other in others for sign in (1, -1)}
    pairs |= {round(one - other, 2) for one in own for other in others}
    shares = {round(result, 2) for one in own for n in _SHARES for result in (one * n, one / n)}
    doubled = sorted([*own, *own])
    triples = {
        round(signs[0] * one + signs[1] * two + signs[2] * three, 2)
        for one, two, three in combinations(doubled, 3)
        for signs in ((1, 1, 1), (-1, -1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, 1, -1), (1, -1, -1))
    }
    return {value for value in pairs | shares | triples if value > 0}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
