"""Intervals and tests against figures from the literature and from counting."""

import math
from itertools import product

import pytest

from harness.scoring.statistics.intervals import cases_needed, effective_n, paired_interval, wilson
from harness.scoring.statistics.significance import sign_test


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval_is_newcombes(successes: int, n: int, low: float, high: float) -> None:
    found = wilson(successes / n, n)  # Newcombe 1998, table I, method 3

    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


def test_no_observation_has_no_interval() -> None:
    assert wilson(0.0, 0) is None


@pytest.mark.parametrize(
    ("better", "worse", "p"), [(0, 0, None), (5, 0, 0.0625), (6, 0, 0.03125), (3, 3, 1.0), (1, 7, 0.0703125)]
)
def test_the_sign_test_is_exact(better: int, worse: int, p: float | None) -> None:
    assert sign_test(better, worse) == p


def test_the_sign_test_is_what_counting_all_coin_throws_gives() -> None:
    extreme = sum(abs(2 * sum(throw) - 9) >= abs(2 * 7 - 9) for throw in product((0, 1), repeat=9))

    assert sign_test(7, 2) == pytest.approx(extreme / 2**9)


@pytest.mark.parametrize(
    ("values", "worth"),
    [
        ({"a": [1.0], "b": [0.0], "c": [1.0]}, 3),
        ({"a": [1.0] * 4, "b": [0.0] * 4, "c": [1.0] * 4, "d": [0.0] * 4}, 4),  # attempts that all agree add nothing
        ({"a": [1.0, 0.0], "b": [1.0, 0.0], "c": [0.0, 1.0]}, 6),
        ({"a": [1.0] * 5}, 1),
        ({"a": [0.0] * 4, "b": [0.0] * 4}, 2),
        ({"a": [1.0] * 4, "b": [1.0] * 4}, 2),
        ({}, 0),
    ],
)
def test_attempts_at_one_case_are_worth_less_than_cases(values: dict[str, list[float]], worth: float) -> None:
    assert effective_n(values) == worth


def test_the_paired_interval_is_bonett_and_prices() -> None:
    changed = [1.0] * 9 + [-1.0] * 3 + [0.0] * 88
    found = paired_interval(changed, 1.0)

    p12, p21, n = 10 / 102, 4 / 102, 102
    half = 1.959964 * math.sqrt((p12 + p21 - (p12 - p21) ** 2) / n)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((p12 - p21 - half, p12 - p21 + half), abs=1e-6)
    assert paired_interval([], 1.0) is None


def test_the_cases_that_would_tell_are_those_of_a_paired_test() -> None:
    changed = [1.0] * 6 + [-1.0] * 2 + [0.0] * 40  # a difference of 4/48 where 8/48 change

    shift, spread = 4 / 48, 8 / 48 - (4 / 48) ** 2
    assert cases_needed(changed) == math.ceil((1.959964 + 0.841621) ** 2 * spread / shift**2)
    assert cases_needed([0.0] * 9) is None
    assert cases_needed([1.0, -1.0]) is None
