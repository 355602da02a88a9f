"""Exact tests of a difference, paired and unpaired, corrected for many; sequential tests for repeated looks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from harness.scoring.statistics.intervals import rounded


def sign_test(better: int, worse: int) -> float | None:
    """The exact two-sided p-value of the hypothesis that better and worse are equally likely; ties are ignored. None
    if all are ties.
    """
    n = better + worse
    if not n:
        return None
    tail = ways = 1
    for k in range(min(better, worse)):
        ways = ways * (n - k) // (k + 1)  # C(n, k + 1) from C(n, k): thousands of cases in milliseconds
        tail += ways
    return rounded(float(min(Fraction(1), Fraction(2 * tail, 2**n))))


def sign_test_greater(more: int, less: int) -> float | None:
    """Exact one-sided p of as many `more` or further ones if both are equally likely. None if all are ties."""
    n = more + less
    if not n:
        return None
    tail = ways = 1
    for k in range(less):
        ways = ways * (n - k) // (k + 1)
        tail += ways
    return rounded(float(Fraction(tail, 2**n)))


_HALVINGS = 60


def _edge(inside: float, outside: float, holds: Callable[[float], bool]) -> float:
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return outside


def least_share(more: int, less: int, level: float) -> float | None:
    """The lower limit (Clopper and Pearson, one-sided) of the share of `more`: it is at least 0.5 if and only if the p
    of `sign_test_greater` is at most `level`. None without a case.
    """
    n = more + less
    if not n:
        return None

    def too_low(share: float) -> bool:
        return math.fsum(math.comb(n, k) * share ** (n - k) * (1 - share) ** k for k in range(less + 1)) <= level

    return rounded(_edge(0.0, 1.0, too_low))


def fisher_greater(with_now: int, without_now: int, with_before: int, without_before: int) -> float:
    """The p-value of Fisher's exact one-sided test that the share now is not larger than before, with all margins
    fixed.
    """
    now, having = with_now + without_now, with_now + with_before
    every = now + with_before + without_before
    most = min(now, having)
    ways = sum(math.comb(having, k) * math.comb(every - having, now - k) for k in range(with_now, most + 1))
    return rounded(float(Fraction(ways, math.comb(every, now))))


def holm(tests: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction of the tests that were made; None stays None, and counts for nothing."""
    made = sorted((p, place) for place, p in enumerate(tests) if p is not None)
    found: list[float | None] = [None] * len(tests)
    least = 0.0
    for rank, (p, place) in enumerate(made):
        least = max(least, min(1.0, p * (len(made) - rank)))
        found[place] = rounded(least)
    return found


LEVEL = 0.05


def level_of(number: int) -> float:
    """Of the `number`-th release after the first; all of them together are `LEVEL`."""
    return LEVEL / (number * (number + 1))


def level_of_look(number: int, look: int) -> float:
    """The level of the `look`-th look at that release, both counted from 1; the levels of all looks sum to
    `level_of(number)`.
    """
    return level_of(number) / (look * (look + 1))


# Shifts of a rate that is examined every day, with a bound on how often a false alarm comes.
#
# The detector is a Shiryaev-Roberts e-detector (Shin, Ramdas and Rinaldo, "E-detectors: a nonparametric framework for
# sequential change detection", 2023): with e_t the e-value of look t under the null, M_t = (M_{t-1} + 1) e_t, and an
# alarm is raised when M_t >= c. Whatever is examined, and however often, the expected number of looks until a false
# alarm is at least c, since M_t - t is a supermartingale under the null.
#
# The null is "the rate is at most `limit`" (or at least, for the other side). For a look with k of n, the likelihood
# ratio of a Bernoulli rate q > limit against limit is an e-value for every rate in the null, because the ratio is
# monotone in the rate. Several q are mixed, so that small and large shifts are both found. Observations that are not
# independent (days differ by more than chance) make every likelihood ratio too sure of itself: its logarithm is divided
# by the dispersion of the reference (quasi-likelihood). That, and a limit that is estimated, are the approximations.

_ALTERNATIVES: Final = (1.15, 1.3, 1.6, 2.2, 3.5, 6.0)
"""Odds ratios against the limit."""
_FLOOR: Final = 1e-4
_LONGEST_LOG: Final = 500.0
Direction = Literal["up", "down"]


@dataclass(frozen=True, kw_only=True)
class RateReference:
    """The rate that later looks are compared with."""

    rate: float
    lower: float
    upper: float
    """Bounds of the rate: values beyond them count as a shift."""
    dispersion: float
    """How much more than by chance the looks of the reference differ; at least 1."""
    observations: int


@dataclass(frozen=True, kw_only=True)
class RateAlarm:
    """A shift: `look` raised it, `since` is the look at which it most likely began."""

    look: int
    since: int
    direction: Direction
    rate: float
    """From `since` on."""
    evidence: float
    """The detector's value; it was to reach `threshold`."""
    threshold: float


def reference_of(looks: Sequence[tuple[int, int]], *, margin: float, z: float) -> RateReference | None:
    """The reference of looks, each (k, n); None without observations.

    The bounds are the score interval at `z`, widened by the dispersion and by `margin`: within them the true rate may
    be without being a shift.
    """
    observations = sum(n for _, n in looks)
    if not observations:
        return None
    rate = sum(k for k, _ in looks) / observations
    dispersion = _dispersion(looks, rate)
    effective = observations / dispersion
    centre = (rate * effective + z * z / 2) / (effective + z * z)
    half = z / (effective + z * z) * math.sqrt(rate * (1 - rate) * effective + z * z / 4)
    return RateReference(
        rate=rate,
        lower=max(0.0, min(rate, centre - half) - margin),
        upper=min(1.0, max(rate, centre + half) + margin),
        dispersion=dispersion,
        observations=observations,
    )


class RateDetector:
    """Watches one rate for a shift in either direction; each direction has half of the false alarms."""

    def __init__(self, reference: RateReference, threshold: float) -> None:
        """`threshold`: the least expected number of looks until a false alarm."""
        self._reference = reference
        self._threshold = 2 * threshold
        self._values = {direction: [0.0] * len(_alternatives(reference, direction)) for direction in ("up", "down")}
        self._looks: list[tuple[int, int]] = []

    def look(self, failures: int, observations: int) -> RateAlarm | None:
        """Takes in the next look; the alarm that it raises."""
        self._looks.append((failures, observations))
        for direction in ("up", "down"):
            alternatives = _alternatives(self._reference, direction)
            if not alternatives:
                continue
            limit = self._reference.upper if direction == "up" else self._reference.lower
            held = self._values[direction]
            for place, rate in enumerate(alternatives):
                log_e = _log_ratio(failures, observations, rate, limit) / self._reference.dispersion
                held[place] = (held[place] + 1) * math.exp(min(_LONGEST_LOG, log_e))
            value = sum(held) / len(held)
            if value >= self._threshold:
                return self._alarm(direction, limit, value)
        return None

    def _alarm(self, direction: Direction, limit: float, value: float) -> RateAlarm:
        since = self._began(direction, limit)
        failures, observations = (sum(one) for one in zip(*self._looks[since:], strict=True))
        return RateAlarm(
            look=len(self._looks) - 1,
            since=since,
            direction=direction,
            rate=failures / observations if observations else 0.0,
            evidence=value,
            threshold=self._threshold,
        )

    def _began(self, direction: Direction, limit: float) -> int:
        """The look from which on the data speak most for a shift: the maximum over suffixes."""
        best, since, k, n = -math.inf, len(self._looks) - 1, 0, 0
        for place in reversed(range(len(self._looks))):
            k, n = k + self._looks[place][0], n + self._looks[place][1]
            if not n:
                continue
            outside = k / n > limit if direction == "up" else k / n < limit
            gain = _log_ratio(k, n, k / n, limit) if outside else -math.inf
            if gain > best:
                best, since = gain, place
        return since


def is_over(looks: Sequence[tuple[int, int]], reference: RateReference, shifted: float, *, level: float = 0.05) -> bool:
    """Whether a shift to the rate `shifted` has gone, by the looks since its alarm.

    The null is "the rate is still on the far side of the middle between the reference and the shift"; it is rejected
    if a test martingale reaches 1 / level at any look (Ville's inequality), so looking daily costs nothing.
    """
    middle = (reference.rate + shifted) / 2
    up = shifted > reference.rate
    back = _possible(reference.rate)
    for start in range(len(looks)):  # the shift may have ended after some of them
        log_value = 0.0
        for failures, observations in looks[start:]:
            log_value += _log_ratio(failures, observations, back, middle) / reference.dispersion
        if log_value >= math.log((start + 1) * (start + 2) / level) and (back < middle) == up:
            return True
    return False


def _alternatives(reference: RateReference, direction: str) -> list[float]:
    limit = reference.upper if direction == "up" else reference.lower
    if (direction == "up" and limit >= 1 - _FLOOR) or (direction == "down" and limit <= _FLOOR):
        return []
    odds = _possible(limit) / (1 - _possible(limit))
    found = [odds * ratio if direction == "up" else odds / ratio for ratio in _ALTERNATIVES]
    return [one / (1 + one) for one in found]


def _log_ratio(failures: int, observations: int, rate: float, limit: float) -> float:
    limit, rate = _possible(limit), _possible(rate)
    return failures * math.log(rate / limit) + (observations - failures) * math.log((1 - rate) / (1 - limit))


def _possible(rate: float) -> float:
    """Neither 0 nor 1, of which a single look to the contrary would be infinite evidence."""
    return min(1 - _FLOOR, max(_FLOOR, rate))


def _dispersion(looks: Sequence[tuple[int, int]], rate: float) -> float:
    """Pearson's chi-square over its degrees of freedom, at least 1; if it is more than chance gives (5 %), its upper
    bound at 90 %: a few looks tell it badly, and one that is taken for too small raises false alarms.
    """
    used = [(k, n) for k, n in looks if n]
    if len(used) < 3 or not 0 < rate < 1:
        return 1.0
    statistic = sum((k - n * rate) ** 2 / (n * rate * (1 - rate)) for k, n in used)
    freedom = len(used) - 1
    if statistic <= _chi_square(freedom, _Z_95):
        return max(1.0, statistic / freedom)
    return statistic / _chi_square(freedom, -_Z_90)


_Z_95: Final = 1.645
_Z_90: Final = 1.282


def _chi_square(freedom: int, z: float) -> float:
    """The quantile at the normal quantile `z` (Wilson and Hilferty 1931)."""
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + z * math.sqrt(part)) ** 3)
