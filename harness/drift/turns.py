"""Detects whether old and new answers to one call alternate, as during the rollout of a release, or whether a part
varies by chance.

A release changes several parts at once, or a part that never varies by chance (a type, a status, a media type): the
answers that show one change then show the others too. A single member that is sometimes missing counts as a release
only where enough earlier answers always had it.
"""

from collections.abc import Sequence

from harness.drift.change import Change
from harness.drift.comparing.compare import Compared

BY_TURNS = 8
"""The number of answers to one call that the detection needs."""
_EACH = 2
"""The minimum number of both old and new answers."""
_ALWAYS_THERE = 10
"""The number of earlier answers, all with the member, from which on its absence is not chance."""
_OF_A_MEMBER = frozenset({"schema.removed", "schema.optional_removed", "schema.added", "schema.became_nullable"})
_OF_VALUES = ("value.", "shape.")

Place = tuple[str, str, str]


def disagree(compared: Sequence[Compared]) -> bool:
    """Whether some answers show a change of more than a value, and others do not."""
    return len({frozenset(_firm(one)) for one in compared}) > 1


def comes_by_turns(compared: Sequence[Compared], place: Place) -> bool:
    """Whether the change at this place is one of a release that answers part of the calls."""
    firm = [_firm(one) for one in compared]
    shown = [place in one for one in firm]
    if len(shown) < BY_TURNS or not _EACH <= sum(shown) <= len(shown) - _EACH:
        return False
    together = {other for one in firm for other in one if [other in each for each in firm] == shown}
    if len(together) > 1 or place[0] not in _OF_A_MEMBER:
        return True
    return any(place in one and one[place].known >= _ALWAYS_THERE for one in firm)


def _firm(compared: Compared) -> dict[Place, Change]:
    return {
        change.place: change
        for change in compared.changes
        if change.doubt is None and not change.change.startswith(_OF_VALUES)
    }
