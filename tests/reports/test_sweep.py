"""What repeated trials say in a report."""

import random

import pytest

from harness.reports.figures import sweep
from harness.scoring.scorecard import Scorecard


def card(case_id: str, attempt: int, success: bool | None) -> Scorecard:
    return Scorecard(
        case_id=case_id,
        attempt=attempt,
        category="c",
        difficulty="easy",
        outcome="finished",
        success=success,
        digest="d",
    )


def cards(**by_case: str) -> list[Scorecard]:
    """`a="110?"`: two successes, a failure, one that is not known."""
    known = {"1": True, "0": False, "?": None}
    return [card(case, n, known[mark]) for case, marks in by_case.items() for n, mark in enumerate(marks, 1)]


def test_cases_whose_trials_disagree_decide():
    found = sweep(cards(a="1111", b="1010", c="1110", d="0000", e="0000"))
    assert found is not None
    assert (found.cases, found.trials, found.always, found.never) == (5, 20, 1, 2)
    assert [(one.case_id, one.successes, one.share) for one in found.deciding] == [
        ("b", 2, pytest.approx(4 / 7)),
        ("c", 3, pytest.approx(3 / 7)),
    ]


def test_what_is_not_known_is_left_out():
    assert sweep(cards(a="11", b="00")) == sweep(cards(a="1?1", b="00?"))


def test_once_each_says_nothing_of_trials():
    assert sweep(cards(a="1", b="0")) is None
    assert sweep([]) is None


def test_smaller_differences_need_more_trials():
    chance = random.Random(2)
    found = sweep(cards(**{f"c{n}": "".join(chance.choice("1110") for _ in range(8)) for n in range(50)}))
    assert found is not None
    small, middle, large = (one.trials for one in found.needed)
    assert small > middle > large
    assert [one.more for one in found.needed] == [max(0, one.trials - 8) for one in found.needed]


def test_trials_that_always_agree_need_none():
    found = sweep(cards(a="11", b="00"))
    assert found is not None
    assert {one.trials for one in found.needed} == {0}
