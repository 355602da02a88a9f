"""The interval of a mean where whole cases are drawn again and again: the percentile bootstrap.

Up to a few hundred cases they are really drawn. From there on the bounds are computed from the first four moments of
the cases (Cornish and Fisher's expansion), which is nearer to endless drawing than a thousand draws are; not where a
few cases decide, because there the expansion would not hold.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter

from harness.stats.intervals import Interval, rounded

_RESAMPLES = 1000
_TAIL = 0.025
_Z = -1.959963984540054
"""The normal distribution's value at the tail."""
_MANY = 300
"""Cases from which on drawing is slow and the expansion exact enough."""
_SKEWED = 0.25
"""Skewness of the drawn mean past which a few cases decide."""
_ROUNDS = 4

_Draw = Callable[[Sequence[float]], Sequence[float]]
_Bounds = tuple[float, float]


def bootstrap(by_case: Mapping[str, Sequence[float]]) -> Interval | None:
    """Percentile interval of the mean, 95 %, whole cases resampled; None for fewer than two cases or no spread.

    The resampling is seeded: the same values give the same interval.
    """
    if len(by_case) < 2 or len({value for values in by_case.values() for value in values}) < 2:
        return None
    clusters = [values for _, values in sorted(by_case.items())]
    sums, sizes = [math.fsum(values) for values in clusters], [len(values) for values in clusters]
    computed = _computed(sums, sizes) if len(clusters) >= _MANY else None
    low, high = computed or _drawn(sums, sizes)
    return Interval(low=rounded(low), high=rounded(high))


def _drawn(sums: Sequence[float], sizes: Sequence[int]) -> _Bounds:
    draws = _draws(len(sums))
    if len(set(sizes)) == 1:
        n = sum(sizes)
        means = sorted(math.fsum(draw(sums)) / n for draw in draws)
    else:
        means = sorted(math.fsum(draw(sums)) / sum(draw(sizes)) for draw in draws)
    return means[int(_TAIL * _RESAMPLES)], means[int((1 - _TAIL) * _RESAMPLES) - 1]


@lru_cache(maxsize=2)
def _draws(cases: int) -> tuple[_Draw, ...]:
    """The resamples, each of which takes its members out of any row of `cases` values.

    They are cached, because drawing takes longer than summing, and most metrics of a run have the same cases.
    """
    seeded, places = random.Random(0), range(cases)
    return tuple(itemgetter(*seeded.choices(places, k=cases)) for _ in range(_RESAMPLES))


def _computed(sums: Sequence[float], sizes: Sequence[int]) -> _Bounds | None:
    """None where the expansion would not hold."""
    mean = math.fsum(sums) / sum(sizes)
    deviation, skewness, _ = _moments(sums, sizes, mean)
    if deviation == 0 or abs(skewness) > _SKEWED:
        return None
    return _bound(sums, sizes, _Z), _bound(sums, sizes, -_Z)


def _bound(sums: Sequence[float], sizes: Sequence[int], z: float) -> float:
    """Returns the value below which the drawn mean lies with the probability that a normal variable is below `z`.

    The drawn mean is below a value exactly where the drawn cases' `sum - size * value` add up to less than 0: that
    total's moments are exact. They depend on the value where sizes differ; a few iterations converge.
    """
    mean = bound = math.fsum(sums) / sum(sizes)
    for _ in range(_ROUNDS if len(set(sizes)) > 1 else 1):
        deviation, skewness, peakedness = _moments(sums, sizes, bound)
        expanded = (
            z
            + skewness * (z * z - 1) / 6
            + peakedness * (z**3 - 3 * z) / 24
            - skewness * skewness * (2 * z**3 - 5 * z) / 36
        )
        bound = mean + deviation * expanded / sum(sizes)
    return bound


def _moments(sums: Sequence[float], sizes: Sequence[int], value: float) -> tuple[float, float, float]:
    """Of the drawn total of `sum - size * value`: standard deviation, skewness and excess kurtosis."""
    n = len(sums)
    parts = [total - size * value for total, size in zip(sums, sizes, strict=True)]
    middle = math.fsum(parts) / n
    squares = [(part - middle) ** 2 for part in parts]
    variance = math.fsum(squares) / n
    if variance == 0:
        return 0.0, 0.0, 0.0
    third = math.fsum(square * (part - middle) for square, part in zip(squares, parts, strict=True)) / n
    fourth = math.fsum(square * square for square in squares) / n
    return math.sqrt(n * variance), third / variance**1.5 / math.sqrt(n), (fourth / variance**2 - 3) / n
