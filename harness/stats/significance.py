"""Exact tests of a difference, paired and unpaired, and the correction for many of them."""

import math
from collections.abc import Sequence
from fractions import Fraction

from harness.stats.intervals import rounded


def sign_test(better: int, worse: int) -> float | None:
    """The exact two-sided p-value of the hypothesis that better and worse are equally likely; ties are ignored. None
    where all are ties.
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
    """Exact one-sided p of as many `more` or further ones where both are equally likely. None where all are ties."""
    n = more + less
    if not n:
        return None
    tail = ways = 1
    for k in range(less):
        ways = ways * (n - k) // (k + 1)
        tail += ways
    return rounded(float(Fraction(tail, 2**n)))


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
