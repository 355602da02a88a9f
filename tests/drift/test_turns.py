"""Which changes of answers that alternate are those of a release."""

import pytest

from harness.drift.change import Change
from harness.drift.compare import Compared, comes_by_turns


def answers(shown: int, of: int, *changes: Change) -> list[Compared]:
    """As many answers that show the changes, and as many more that show none."""
    return [Compared(changes=changes if number < shown else (), paths=()) for number in range(of)]


def missing(known: int, path: str = "tags") -> Change:
    return Change(change="schema.removed", path=path, old_kind="array", new_kind="absent", known=known)


@pytest.mark.parametrize(("known", "is_release"), [(9, False), (10, True), (50, True)])
def test_one_missing_member_is_a_release_where_enough_earlier_answers_had_it(known: int, is_release: bool) -> None:
    one = missing(known)
    assert is_release == comes_by_turns(answers(4, 8, one), one.place)


@pytest.mark.parametrize(
    ("shown", "of", "is_release"), [(2, 8, True), (6, 8, True), (1, 8, False), (7, 8, False), (3, 7, False)]
)
def test_both_kinds_of_answers_are_seen_twice_in_eight(shown: int, of: int, is_release: bool) -> None:
    one, other = missing(0), missing(0, "name")
    assert is_release == comes_by_turns(answers(shown, of, one, other), one.place)
