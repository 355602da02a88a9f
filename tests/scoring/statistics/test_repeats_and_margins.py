"""What repeats are worth, and how many cases a margin needs, against figures that were worked out by hand."""

import math

import pytest

from harness.scoring.statistics.intervals import (
    cases_for_margin,
    cases_needed,
    effective_n,
    noise_margin,
    paired_interval,
    wilson,
)


@pytest.mark.parametrize(
    ("values", "worth"),
    [
        # mean 1/2; squared deviations of the cases' sums 9/4 + 1/4 + 9/4 + 1/4 = 5; variance 5/144 * 4/3
        ({"a": [1, 1, 1], "b": [1, 1, 0], "c": [0, 0, 0], "d": [0, 0, 1]}, 0.25 / (5 / 144 * 4 / 3)),
        # mean 1/4; cases of unlike size: (2 - 1)^2 + 2 * (0 - 1/2)^2 = 3/2; variance 3/2/64 * 3/2
        ({"a": [1, 1, 0, 0], "b": [0, 0], "c": [0, 0]}, 3 / 16 / (3 / 2 / 64 * 3 / 2)),
        # never more than all values, never fewer than the cases
        ({"a": [1, 0], "b": [0, 1], "c": [1, 0], "d": [1, 0]}, 8.0),
        ({"a": [1, 1], "b": [0, 0]}, 2.0),
    ],
)
def test_repeats_are_worth_what_their_clusters_tell(values: dict[str, list[float]], worth: float) -> None:
    assert effective_n(values) == pytest.approx(worth)


def test_an_interval_stays_inside_of_what_the_metric_can_be() -> None:
    better = paired_interval([1.0, 1.0, 1.0], 1.0)
    worse = paired_interval([-1.0, -1.0, -1.0], 1.0)
    assert better is not None
    assert worse is not None
    assert better.high <= 1.0
    assert worse.low >= -1.0
    assert (better.low, better.high) == pytest.approx((-worse.high, -worse.low))
    certain = wilson(1.0, 5)
    assert certain is not None
    assert 1.0 == certain.high


def test_a_metric_without_a_range_cannot_have_changed() -> None:
    found = paired_interval([0.0, 0.0], 0.0)
    assert found is not None
    assert (0.0, 0.0) == (found.low, found.high)
    assert paired_interval([], 0.0) is None


@pytest.mark.parametrize("margin", [0.05, 0.1, 0.2])
def test_so_many_cases_reach_the_margin_and_one_fewer_does_not(margin: float) -> None:
    pattern = [1.0, 1.0, -1.0, -1.0, *[0.0] * 16]
    seen = paired_interval(pattern, 1.0)
    assert seen is not None
    needed = cases_for_margin(len(pattern), seen, margin, 1.0)
    assert needed is not None
    times = math.ceil(needed / len(pattern))
    enough, fewer = paired_interval(pattern * times, 1.0), paired_interval(pattern * (times - 1), 1.0)
    assert enough is not None
    assert enough.low >= -margin
    assert times == 1 or (fewer is not None and fewer.low < -margin)


def test_no_number_of_cases_reaches_a_margin_that_the_mean_is_beyond() -> None:
    worse = [-1.0] * 10 + [0.0] * 10
    seen = paired_interval(worse, 1.0)
    assert seen is not None
    assert cases_for_margin(20, seen, 0.1, 1.0) is None


def test_a_difference_needs_six_cases_at_least_and_a_million_at_most() -> None:
    assert cases_needed([1.0, 1.0, 1.0]) == 6
    assert cases_needed([1.0] + [-1.0] * 1 + [0.001] * 2) is None
    # of n cases one more became better than worse: 7.84888 (n^2 - 1) cases are needed
    assert 989148 == cases_needed([1.0] * 178 + [-1.0] * 177)
    assert cases_needed([1.0] * 179 + [-1.0] * 178) is None


@pytest.mark.parametrize(
    ("n", "comparisons", "z", "cases"),
    [(None, 1, 1.959964, 4), (16, 1, 1.959964, 16), (None, 5, 2.575829, 4), (16, 50, 3.290527, 16)],
)
def test_the_noise_of_two_measurements_is_that_of_their_number(
    n: int | None, comparisons: int, z: float, cases: int
) -> None:
    """The z of a normal variable at 5 %, and at 1 % and 0.1 % where five and fifty are compared (Bonferroni)."""
    repeated = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]  # variances 1/2, 0, 1/2, 0
    found = noise_margin(repeated, n, comparisons=comparisons)
    assert z * math.sqrt(2 * 0.25 / cases) == pytest.approx(found, rel=1e-6)


def test_nothing_measured_twice_has_no_noise() -> None:
    assert 0.0 == noise_margin([]) == noise_margin([[1.0], [0.0]])
