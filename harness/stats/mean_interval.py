"""The interval of a mean of amounts: values without bounds, such as seconds, tokens and dollars."""

import math
from collections.abc import Sequence

from harness.stats.intervals import Interval, Z, rounded

_T = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
"""The 97.5 % quantile of Student's t, by degrees of freedom from 1."""


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Student's interval of the mean, 95 %, one value for each case; None for fewer than two.

    Its width is 0 where all values are equal: whether so few cases are enough is for the caller to decide.
    """
    n = len(values)
    if n < 2:
        return None
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = _quantile(n - 1) * math.sqrt(variance / n)
    return Interval(low=rounded(mean - half), high=rounded(mean + half))


def _quantile(freedom: int) -> float:
    """Beyond the table by the first two terms of the Cornish-Fisher expansion."""
    if freedom <= len(_T):
        return _T[freedom - 1]
    return Z + (Z**3 + Z) / (4 * freedom) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)
