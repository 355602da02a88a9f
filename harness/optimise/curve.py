"""The curve of a search: its best candidate on validation by rollouts."""

from harness.optimise.outcome import CurvePoint
from harness.optimise.searching.search import Search

MOST_POINTS = 8
"""Of a curve: each costs the held-out rollouts of one candidate."""


def points(search: Search) -> list[CurvePoint]:
    """The candidate that was the best on validation, each time it changed; the last ones where there are many."""
    found: list[CurvePoint] = []
    for name, asked in search.validated.items():
        score = search.score(search.candidates[name])
        if (not found or score > found[-1].validation) and search.may_be_parent(search.candidates[name]):
            found.append(CurvePoint(rollouts=asked, candidate=name, validation=score, held_out=None))
    return [found[0], *found[1:][-(MOST_POINTS - 1) :]] if found else []
