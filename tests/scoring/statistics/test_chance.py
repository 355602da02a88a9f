"""Coefficients against worked examples of the literature, and where they are not defined."""

import pytest

from harness.scoring.statistics.agreement import cohen_kappa


def _pairs(both: int, first_only: int, second_only: int, neither: int) -> list[tuple[bool, bool]]:
    cells = {(True, True): both, (True, False): first_only, (False, True): second_only, (False, False): neither}
    return [pair for pair, count in cells.items() for _ in range(count)]


def test_cohens_kappa_of_fifty_grants_read_twice() -> None:
    assert pytest.approx(0.4) == cohen_kappa(_pairs(20, 5, 10, 15))


def test_kappa_is_zero_where_agreement_is_what_chance_gives() -> None:
    assert cohen_kappa(_pairs(25, 25, 25, 25)) == 0


def test_kappa_is_negative_where_raters_contradict_each_other() -> None:
    assert cohen_kappa(_pairs(0, 10, 10, 0)) == -1


def test_kappa_is_not_defined_where_both_always_say_the_same() -> None:
    assert cohen_kappa(_pairs(40, 0, 0, 0)) is None
    assert cohen_kappa([]) is None


def test_kappa_of_one_constant_rater_is_zero() -> None:
    assert cohen_kappa(_pairs(30, 10, 0, 0)) == 0
