"""The bootstrap's interval: drawn where cases are few, computed where they are many, and the same either way."""

import random
from collections.abc import Callable
from statistics import fmean, pstdev

import pytest

from harness.scoring.statistics.intervals import Interval, bootstrap

Make = Callable[[random.Random], float]


def drawn_many_times(by_case: dict[str, list[float]], times: int = 1500) -> tuple[float, float, float]:
    """The bounds and the standard deviation of the drawn means, written down once more and plainly."""
    dice, cases = random.Random(7), list(by_case.values())
    means = []
    for _ in range(times):
        drawn = dice.choices(cases, k=len(cases))
        means.append(fmean(value for values in drawn for value in values))
    means.sort()
    return means[int(0.025 * times)], means[int(0.975 * times)], pstdev(means)


def test_the_bootstrap_is_the_same_each_time_and_holds_the_mean() -> None:
    values = {str(i): [float(i % 3)] for i in range(30)}
    found = bootstrap(values)

    assert isinstance(found, Interval)
    assert found == bootstrap(dict(reversed(values.items())))
    assert 0.6 < found.low < 1.0 < found.high < 1.4
    assert bootstrap({"a": [1.0], "b": [1.0]}) is None
    assert bootstrap({}) is None
    assert bootstrap({"a": [0.0, 1.0]}) is None
    assert bootstrap({"a": [0.0], "b": [1.0]}) == Interval(low=0.0, high=1.0)


def test_a_few_cases_are_drawn_as_they_always_were() -> None:
    values = {f"{place:02}": [place * place / 7] * (1 + place % 3) for place in range(40)}

    sums = [(sum(own), len(own)) for own in values.values()]
    dice = random.Random(0)
    draws = [dice.choices(sums, k=40) for _ in range(1000)]
    means = sorted(sum(total for total, _ in drawn) / sum(n for _, n in drawn) for drawn in draws)

    found = bootstrap(values)
    assert found is not None
    assert (means[25], means[974]) == pytest.approx((found.low, found.high), rel=1e-9)


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize(
    "make",
    [
        lambda dice: float(dice.random() < 0.07),
        lambda dice: dice.choice([0.0, 0.5, 1.0]),
        lambda dice: dice.expovariate(1),
    ],
    ids=["rare", "thirds", "skewed"],
)
def test_many_cases_have_the_interval_that_drawing_them_gives(make: Make, attempts: int) -> None:
    dice = random.Random(3)
    values = {str(case): [make(dice) for _ in range(dice.randint(1, attempts))] for case in range(400)}

    low, high, deviation = drawn_many_times(values)

    found = bootstrap(values)
    assert found is not None
    assert (low, high) == pytest.approx((found.low, found.high), abs=0.2 * deviation)


def test_many_cases_have_the_interval_of_cornish_and_fisher() -> None:
    """The quantile of a sum by its first four moments (Cornish and Fisher 1938), here of values of equal weight."""
    dice = random.Random(5)
    values = [dice.expovariate(1) for _ in range(500)]
    mean, deviation, n = fmean(values), pstdev(values), len(values)
    third, fourth = (fmean(((value - mean) / deviation) ** power for value in values) for power in (3, 4))
    skewness, peakedness, z = third / n**0.5, (fourth - 3) / n, 1.959963984540054

    def quantile(z: float) -> float:
        third_order = (z**3 - 3 * z) * peakedness / 24 - (2 * z**3 - 5 * z) * skewness**2 / 36
        return mean + deviation / n**0.5 * (z + (z**2 - 1) * skewness / 6 + third_order)

    found = bootstrap({str(case): [value] for case, value in enumerate(values)})
    assert found is not None
    assert (quantile(-z), quantile(z)) == pytest.approx((found.low, found.high), rel=1e-9)


@pytest.mark.parametrize(
    ("cases", "ones", "drawn"), [(299, 150, True), (300, 150, False), (400, 14, True), (400, 15, False)]
)
def test_cases_are_drawn_below_300_and_where_the_means_skewness_passes_a_quarter(
    cases: int, ones: int, drawn: bool
) -> None:
    """Of 400 cases with 14 and 15 ones the skewness (1 - 2p) / sqrt(n p (1 - p)) is 0.253 and 0.243. Drawn bounds are
    means of whole cases.
    """
    found = bootstrap({str(case): [float(case < ones)] for case in range(cases)})
    assert found is not None
    bounds = (found.low * cases, found.high * cases)
    assert drawn == (bounds == pytest.approx(tuple(map(round, bounds)), abs=1e-6))


def test_many_cases_that_vary_only_within_have_an_interval_without_width() -> None:
    assert Interval(low=0.5, high=0.5) == bootstrap({str(case): [0.0, 1.0] for case in range(300)})


def test_where_a_few_of_many_cases_decide_they_are_drawn() -> None:
    values = {str(case): [float(case == 0)] for case in range(400)}

    assert Interval(low=0.0, high=0.0075) == bootstrap(values)  # steps of one case, as often as it was drawn
