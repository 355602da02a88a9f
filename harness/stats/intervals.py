"""Confidence intervals. Attempts at one case are not independent, so cases are what is counted."""

import math
from collections.abc import Iterable, Mapping, Sequence

from harness.values import Frozen

Z = 1.959963984540054  # 95 %, two-sided
_Z_POWER = 0.8416212335729143  # 80 %, one-sided
_NOTHING = 1e-9
_FEWEST = 6
_MOST = 1_000_000


class Interval(Frozen):
    """95 % confidence."""

    low: float
    high: float


def wilson(share: float, n: float) -> Interval | None:
    """Wilson's interval of a share over `n` independent observations; None for none."""
    if n <= 0:
        return None
    z2 = Z * Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return Interval(low=rounded(max(0.0, middle - half)), high=rounded(min(1.0, middle + half)))


def effective_n(by_case: Mapping[str, Sequence[float]]) -> float:
    """The effective number of independent observations in the 0/1 values, given that those of one case are correlated.

    n without repeats; else p(1 - p) / the cluster-robust variance of the mean, never more than all values and never
    fewer than the cases; the number of cases where all values are equal, because their spread is then unknown.
    """
    sizes = [len(values) for values in by_case.values()]
    hits = [(sum(values), len(values)) for values in by_case.values()]
    return effective_n_of_hits(hits, cases=len(sizes), n=sum(sizes), squares=sum(size * size for size in sizes))


def effective_n_of_hits(hits: Iterable[tuple[float, int]], *, cases: int, n: int, squares: int) -> float:
    """As `effective_n`, of sums: work for the cases with a 1, however many others there are.

    `hits`: (sum of the values, their number) of every case with a 1; `squares`: the sum of the squared numbers of all.
    """
    hits = list(hits)
    if cases == n:
        return n
    mean = sum(ones for ones, _ in hits) / n
    if cases < 2 or mean in (0.0, 1.0):
        return cases
    spread = max(0.0, squares * mean * mean + sum(ones * ones - 2 * ones * size * mean for ones, size in hits))
    variance = spread / n**2 * cases / (cases - 1)
    return n if variance == 0 else min(float(n), max(float(cases), mean * (1 - mean) / variance))


def paired_interval(differences: Sequence[float], width: float) -> Interval | None:
    """The interval of the mean of paired differences, one per case; None without cases.

    Adjusted Wald (Bonett and Price 2012): two more cases are counted, of which one became better and one worse by
    `width`, the whole range of the metric. Therefore a few unchanged cases do not prove that nothing changed.
    """
    if not differences or width <= 0:
        return None if not differences else Interval(low=0.0, high=0.0)
    n = len(differences) + 2
    mean = math.fsum(differences) / n
    squares = math.fsum(value * value for value in differences) + 2 * width * width
    half = Z * math.sqrt((squares / n - mean * mean) / n)
    return Interval(low=rounded(max(-width, mean - half)), high=rounded(min(width, mean + half)))


def cases_needed(differences: Sequence[float]) -> int | None:
    """The number of cases with which the observed mean difference would be significant at 5 %, with a power of 80 %.

    None where no difference was observed, or where it is so small that a million cases would not suffice.
    """
    n = len(differences)
    mean = math.fsum(differences) / n if n else 0.0
    if abs(mean) < _NOTHING:
        return None
    spread = math.fsum((value - mean) ** 2 for value in differences) / n
    needed = math.ceil(max(_FEWEST, (Z + _Z_POWER) ** 2 * spread / (mean * mean)))
    return needed if needed <= _MOST else None


def cases_for_margin(cases: int, seen: Interval, margin: float, width: float) -> int | None:
    """The number of cases with which a `paired_interval` like the observed one would be above minus the margin, with
    the same mean and spread; None where no number up to a million would suffice.
    """
    n = cases + 2
    middle = (seen.low + seen.high) / 2
    squares = n * (n * ((seen.high - seen.low) / 2 / Z) ** 2 + middle * middle)
    mean, second = middle * n / cases, max(0.0, (squares - 2 * width * width) / cases)

    def low(number: int) -> float:
        shifted = mean * number / (number + 2)
        total = (number * second + 2 * width * width) / (number + 2)
        return shifted - Z * math.sqrt(max(0.0, total - shifted * shifted) / (number + 2))

    if low(_MOST) < -margin:
        return None
    few, enough = 0, _MOST
    while enough - few > 1:
        tried = (few + enough) // 2
        few, enough = (tried, enough) if low(tried) < -margin else (few, tried)
    return enough


def rounded(value: float) -> float:
    """To twelve digits: the last bits differ between machines' mathematics, and a report must not."""
    return round(value, 12)
