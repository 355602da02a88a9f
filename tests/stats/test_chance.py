"""Coefficients against worked examples of the literature, and where they are not defined."""

import pytest

from harness.scoring.statistics.agreement import cohen_kappa, krippendorff_alpha, position_consistency


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


def test_krippendorffs_alpha_of_the_textbooks_four_observers() -> None:
    """Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", part C: values are missing, 0.743."""
    observers = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    units = [
        [value for value in unit if value != "."] for unit in zip(*(row.split() for row in observers), strict=True)
    ]
    found = krippendorff_alpha(units)
    assert found is not None
    assert round(found, 3) == 0.743


def test_krippendorffs_alpha_of_two_observers_and_binary_data() -> None:
    """The same paper, part A: ten units, 0.095."""
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    found = krippendorff_alpha(list(zip(first, second, strict=True)))
    assert found is not None
    assert round(found, 3) == 0.095


def test_alpha_needs_a_difference_and_a_pair() -> None:
    assert krippendorff_alpha([[True, True], [True, True]]) is None
    assert krippendorff_alpha([[True], [False]]) is None
    assert krippendorff_alpha([]) is None


def test_position_consistency_counts_the_same_winner_in_both_orders() -> None:
    assert position_consistency([("1", "1"), ("2", "2"), ("1", "2"), ("2", "2")]) == 0.75
    assert position_consistency([]) is None
