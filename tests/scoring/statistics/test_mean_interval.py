"""Student's interval of a mean: its quantiles are those of the distribution, in the table and beyond it."""

import math

import pytest

from harness.scoring.statistics.intervals import mean_interval


def coverage(quantile: float, freedom: int) -> float:
    """The probability that |T| is below the quantile: Simpson's rule over the density, by T = sqrt(freedom) tan(x)."""
    pieces, end = 2000, math.atan(quantile / math.sqrt(freedom))
    step = end / pieces
    weights = [1 if place in (0, pieces) else 2 + 2 * (place % 2) for place in range(pieces + 1)]
    area = sum(weight * math.cos(place * step) ** (freedom - 1) for place, weight in enumerate(weights)) * step / 3
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(math.pi) / 2
    return 2 * area * math.exp(scale)


@pytest.mark.parametrize("freedom", [*range(1, 41), 60, 100, 400])
def test_the_interval_holds_the_mean_with_95_percent(freedom: int) -> None:
    n = freedom + 1
    values = [1000.0 * (-1) ** place for place in range(n)]
    found = mean_interval(values)
    assert found is not None
    mean = sum(values) / n
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / freedom / n)
    assert mean == pytest.approx((found.low + found.high) / 2, abs=1e-3)
    assert coverage((found.high - found.low) / 2 / deviation, freedom) == pytest.approx(0.95, abs=2e-5)


def test_two_values_are_needed_and_equal_ones_have_no_width() -> None:
    assert mean_interval([]) is None
    assert mean_interval([3.0]) is None
    found = mean_interval([3.0, 3.0, 3.0])
    assert found is not None
    assert (3.0, 3.0) == (found.low, found.high)
