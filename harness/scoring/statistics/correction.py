"""A share corrected for the errors of who decided it, with an interval that carries labels and sample."""

import math
from collections.abc import Callable
from typing import Final

from harness.scoring.statistics.intervals import Interval, Z, rounded, wilson
from harness.values import Frozen

WIDEST: Final = 0.5
"""The widest interval that says something; a wider one is refused."""
_MOST: Final = 1_000_000


class Sample(Frozen):
    """A share of `n` independent observations; `n` is an effective number where they are not independent."""

    share: float
    n: float


class Corrected(Frozen):
    """A corrected share, or why there is none."""

    share: float | None = None
    interval: Interval | None = None
    """95 %."""
    refused: str | None = None
    """With the number of labels or trials that is needed."""

    @property
    def complement(self) -> "Corrected":
        """The same of what is not in the share."""
        if self.share is None or self.interval is None:
            return self
        turned = Interval(low=rounded(1 - self.interval.high), high=rounded(1 - self.interval.low))
        return Corrected(share=rounded(1 - self.share), interval=turned)


def corrected_share(passed: Sample, true_positive: Sample, true_negative: Sample, unanswered: float = 0.0) -> Corrected:
    """The share that is right to pass, given the share that a judge passed and its rates on labels of people.

    The estimate is (q + TNR - 1) / (TPR + TNR - 1), within 0 and 1 (Rogan and Gladen, "Estimating prevalence from the
    results of a screening test", American Journal of Epidemiology 107, 1978). The interval is that of Lang and
    Reiczigel ("Confidence limits for prevalence of disease adjusted for estimated sensitivity and specificity",
    Preventive Veterinary Medicine 113, 2014): the delta method over three binomial samples, whose shares are moved
    towards one half before (z^2 / 2 of z^2 more trials for q, one of two more labels for each rate), and shifted by
    2 z^2 (p TPR (1 - TPR) / n_TPR - (1 - p) TNR (1 - TNR) / n_TNR).

    It assumes that the labelled trials are like those of the sample. `unanswered` is the share of trials without an
    answer of the judge: all of them may be passes or failures, so that the interval carries both (Manski,
    "Nonparametric bounds on treatment effects", American Economic Review 80, 1990). Refused if the judge's rates are no
    better than chance or could be so by their intervals, and if by so few labels or trials it would be wider than one
    half even for a judge without an error, with the number that is needed. What was found does not decide that: of
    intervals that are shown because they are narrow, fewer hold the truth.
    """
    if true_positive.share + true_negative.share <= 1:
        return Corrected(refused="the judge does not tell passes from failures: no number of labels helps, revise it")
    if not _beats_chance(true_positive, true_negative):
        needed = _least(lambda n: _beats_chance(*_with_labels(true_positive, true_negative, n)))
        return Corrected(
            refused=f"by so few labels the judge may be no better than chance: {needed} of each class tell"
        )
    answered, widest = 1 - unanswered, _width(passed.n, true_positive.n, true_negative.n)
    if widest > WIDEST:
        return Corrected(refused=_needed(passed.n, true_positive.n, true_negative.n))
    if answered * widest + unanswered > WIDEST:
        return Corrected(refused=f"the judge gave no answer to {unanswered:.0%} of the trials: judge them again")
    interval = _interval(passed, true_positive, true_negative)
    interval = Interval(low=rounded(interval.low * answered), high=rounded(interval.high * answered + unanswered))
    share = (passed.share + true_negative.share - 1) / (true_positive.share + true_negative.share - 1)
    # The limits come from moved shares: they are widened to the estimate where it lies beyond them.
    share = rounded(min(1.0, max(0.0, share)))
    return Corrected(share=share, interval=Interval(low=min(interval.low, share), high=max(interval.high, share)))


def _interval(passed: Sample, true_positive: Sample, true_negative: Sample) -> Interval:
    z2 = Z * Z
    n, n_positive, n_negative = passed.n + z2, true_positive.n + 2, true_negative.n + 2
    q = (passed.n * passed.share + z2 / 2) / n
    positive = (true_positive.n * true_positive.share + 1) / n_positive
    negative = (true_negative.n * true_negative.share + 1) / n_negative
    youden = positive + negative - 1
    if youden <= 0:
        return Interval(low=0.0, high=1.0)
    p = (q + negative - 1) / youden
    spread_positive = positive * (1 - positive) / n_positive
    spread_negative = negative * (1 - negative) / n_negative
    variance = q * (1 - q) / n + p * p * spread_positive + (1 - p) ** 2 * spread_negative
    middle = p + 2 * z2 * (p * spread_positive - (1 - p) * spread_negative)
    half = Z * math.sqrt(variance) / youden
    return Interval(low=rounded(min(1.0, max(0.0, middle - half))), high=rounded(min(1.0, max(0.0, middle + half))))


def _beats_chance(true_positive: Sample, true_negative: Sample) -> bool:
    lows = [wilson(one.share, one.n) for one in (true_positive, true_negative)]
    return sum(0.0 if one is None else one.low for one in lows) > 1


def _width(trials: float, passes: float, fails: float) -> float:
    """Of the interval of a judge without an error that passes half of the trials, by numbers of labels."""
    found = _interval(Sample(share=0.5, n=trials), Sample(share=1.0, n=passes), Sample(share=1.0, n=fails))
    return found.high - found.low


def _needed(trials: float, passes: float, fails: float) -> str:
    def is_narrow(trials: float, labels: float) -> bool:
        return _width(trials, max(passes, labels), max(fails, labels)) <= WIDEST

    by_labels = _least(lambda n: is_narrow(trials, n))
    by_trials = _least(lambda n: is_narrow(n, 0))
    ways = [f"{by_labels} labels of each class"] if by_labels < _MOST else []
    ways += [f"{by_trials} judged trials"] if by_trials < _MOST else []
    if not ways:
        both = _least(lambda n: is_narrow(n, n))
        ways = [f"{both} labels of each class and as many judged trials"]
    return f"its interval would be wider than {WIDEST:.0%} for any judge: {' or '.join(ways)} are needed"


def _with_labels(true_positive: Sample, true_negative: Sample, n: float) -> tuple[Sample, Sample]:
    return tuple(one.model_copy(update={"n": max(one.n, n)}) for one in (true_positive, true_negative))  # type: ignore[return-value]


def _least(is_enough: Callable[[int], bool]) -> int:
    few, enough = 0, _MOST
    while enough - few > 1:
        tried = (few + enough) // 2
        few, enough = (few, tried) if is_enough(tried) else (tried, enough)
    return enough
