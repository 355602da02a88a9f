"""Confidence intervals of rates and means, the bootstrap over cases, and the components of variance."""

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter

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


def wilson(share: float, n: float, tries: int = 1) -> Interval | None:
    """Wilson's interval of a share over `n` independent observations; None for none. `tries`: the share is the one that
    was chosen of so many (Bonferroni).
    """
    if n <= 0:
        return None
    z = Z if tries == 1 else statistics.NormalDist().inv_cdf(1 - 0.025 / tries)
    z2 = z * z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return Interval(low=rounded(max(0.0, middle - half)), high=rounded(min(1.0, middle + half)))


def effective_n(by_case: Mapping[str, Sequence[float]]) -> float:
    """The effective number of independent observations in the 0/1 values, given that those of one case are correlated.

    n without repeats; else p(1 - p) / the cluster-robust variance of the mean, never more than all values and never
    fewer than the cases; the number of cases if all values are equal, because their spread is then unknown.
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

    None if no difference was observed, or if it is so small that a million cases would not suffice.
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
    the same mean and spread; None if no number up to a million would suffice.
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


# The interval of a mean of amounts: values without bounds, such as seconds, tokens and dollars.

_T = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
"""The 97.5 % quantile of Student's t, by degrees of freedom from 1."""


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Student's interval of the mean, 95 %, one value for each case; None for fewer than two.

    Its width is 0 if all values are equal: whether so few cases are enough is for the caller to decide.
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


# Up to a few hundred cases they are really drawn. From there on the bounds are computed from the first four moments of
# the cases (Cornish and Fisher's expansion), which is nearer to endless drawing than a thousand draws are; not if a few
# cases decide, because there the expansion would not hold.

_RESAMPLES = 1000
_TAIL = 0.025
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
    low, high = computed or _bootstrap_bounds(sums, sizes)
    return Interval(low=rounded(low), high=rounded(high))


def _bootstrap_bounds(sums: Sequence[float], sizes: Sequence[int]) -> _Bounds:
    if len(sums) >= _MANY:
        means = sorted(_means_by_others(list(zip(sums, sizes, strict=True))))
    elif len(set(sizes)) == 1:
        n = sum(sizes)
        means = sorted(math.fsum(draw(sums)) / n for draw in _draws(len(sums)))
    else:
        means = sorted(math.fsum(draw(sums)) / sum(draw(sizes)) for draw in _draws(len(sums)))
    return means[int(_TAIL * _RESAMPLES)], means[int((1 - _TAIL) * _RESAMPLES) - 1]


@lru_cache(maxsize=2)
def _draws(cases: int) -> tuple[_Draw, ...]:
    """The resamples, each of which takes its members out of any row of `cases` values.

    They are cached, because drawing takes longer than summing, and most metrics of a run have the same cases.
    """
    seeded, places = random.Random(0), range(cases)
    return tuple(itemgetter(*seeded.choices(places, k=cases)) for _ in range(_RESAMPLES))


def _means_by_others(cases: Sequence[tuple[float, int]]) -> Iterator[float]:
    """The means of resamples of many cases of which a few decide: those that differ from the most frequent one.

    How many of them a resample has is binomial; the rest of it is the most frequent case.
    """
    [(common, _)] = Counter(cases).most_common(1)
    others, seeded = [one for one in cases if one != common], random.Random(0)
    for _ in range(_RESAMPLES):
        drawn = seeded.choices(others, k=_binomial(seeded, len(cases), len(others) / len(cases)))
        rest = len(cases) - len(drawn)
        size = sum(size for _, size in drawn) + rest * common[1]
        yield (math.fsum(total for total, _ in drawn) + rest * common[0]) / size


def _binomial(seeded: random.Random, n: int, share: float) -> int:
    """A draw of the number of successes in n tries, by the tries between two successes."""
    if share == 0:
        return 0
    successes, tries, log_failure = -1, 0, math.log1p(-share)
    while tries <= n:
        successes += 1
        tries += 1 + int(math.log(1 - seeded.random()) / log_failure)
    return successes


def _computed(sums: Sequence[float], sizes: Sequence[int]) -> _Bounds | None:
    """None if the expansion would not hold."""
    mean = math.fsum(sums) / sum(sizes)
    deviation, skewness, _ = _moments(sums, sizes, mean)
    if deviation == 0 or abs(skewness) > _SKEWED:
        return None
    return _bound(sums, sizes, -Z), _bound(sums, sizes, Z)


def _bound(sums: Sequence[float], sizes: Sequence[int], z: float) -> float:
    """Returns the value below which the drawn mean lies with the probability that a normal variable is below `z`.

    The drawn mean is below a value exactly if the drawn cases' `sum - size * value` add up to less than 0: that
    total's moments are exact. They depend on the value if sizes differ; a few iterations converge.
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


_LEVEL = 0.05


def noise_margin(repeated: Sequence[Sequence[float]], n: int | None = None, *, comparisons: int = 1) -> float:
    """The difference that two measurements of the same over `n` cases may have by chance at 95 % confidence.

    It is z sqrt(2 v / n), with v the mean variance of repeated measurements of a case, and Bonferroni's z for that many
    `comparisons`.

    `repeated` holds for each case its repeated measurements. `n` defaults to their number. 0 if they never vary, and
    for single measurements.
    """
    if not repeated:
        return 0.0
    variances = [statistics.variance(values) if len(values) > 1 else 0.0 for values in repeated]
    z = Z if comparisons <= 1 else statistics.NormalDist().inv_cdf(1 - _LEVEL / (2 * comparisons))
    return z * math.sqrt(2 * statistics.fmean(variances) / (n or len(repeated)))


def pass_at_k(n: int, c: int, k: int) -> float:
    """1 - C(n-c, k) / C(n, k): of `k` attempts at least one succeeds (Chen et al. 2021); `k` is at most `n`."""
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """C(c, k) / C(n, k): all of `k` attempts succeed (Yao et al. 2024); `k` is at most `n`."""
    return math.comb(c, k) / math.comb(n, k)
