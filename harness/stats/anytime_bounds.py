"""Bounds of a success rate that hold at every look: a run may be watched, and stopped at any time."""

import math
from collections.abc import Callable

from harness.stats.intervals import Interval, rounded
from harness.stats.sequential import LEVEL

_PRIOR = 0.5
_HALVINGS = 60


def confidence_sequence(successes: int, trials: int, level: float = LEVEL) -> Interval:
    """The rates that an e-value does not reject at `level`, however often and whenever one looks; all rates from 0 to 1
    without trials.

    The trials are independent and need not be alike: the bounds hold for the mean of their own success probabilities,
    such as the mean over the cases of a suite once each was tried equally often. With probability 1 - `level` they hold
    at all numbers of trials at once.

    Method: the beta-binomial mixture of likelihood ratios (Robbins, "Statistical methods related to the law of the
    iterated logarithm", 1970; as a confidence sequence Howard, Ramdas, McAuliffe and Sekhon, Annals of Statistics 49,
    2021), e(m) = B(S + 1/2, n - S + 1/2) / (B(1/2, 1/2) m^S (1 - m)^(n - S)). For unlike trials with mean rate m each
    likelihood ratio is at most the product of the trials' own, since log(1 - p + p e^t) is concave in p; so e(m) is
    bounded by a non-negative martingale that begins at 1, and Ville's inequality gives the level.
    """
    if not trials:
        return Interval(low=0.0, high=1.0)
    failures, rate = trials - successes, successes / trials
    mixture = _log_beta(successes + _PRIOR, failures + _PRIOR) - _log_beta(_PRIOR, _PRIOR)
    bound = mixture + math.log(level)

    def holds(rate: float) -> bool:
        return _times_log(successes, rate) + _times_log(failures, 1 - rate) > bound

    low = _edge(rate, 0.0, holds) if successes else 0.0
    high = _edge(rate, 1.0, holds) if failures else 1.0
    return Interval(low=rounded(low), high=rounded(high))


def _edge(inside: float, outside: float, holds: Callable[[float], bool]) -> float:
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return outside


def _times_log(count: int, rate: float) -> float:
    if not count:
        return 0.0
    return count * math.log(rate) if rate > 0 else -math.inf


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
