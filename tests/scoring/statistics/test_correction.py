"""A share corrected for a judge's errors: the estimate, the interval's coverage, and when it is refused."""

import math
import random

import pytest

from harness.judging.certification import LEAST_RATE, ClassRate
from harness.scoring.statistics.correction import Corrected, Sample, corrected_share


def test_the_estimate_is_that_of_rogan_and_gladen() -> None:
    found = corrected_share(Sample(share=0.6, n=400), Sample(share=0.9, n=200), Sample(share=0.8, n=200))
    assert pytest.approx((0.6 + 0.8 - 1) / (0.9 + 0.8 - 1)) == found.share
    perfect = corrected_share(Sample(share=0.6, n=4000), Sample(share=1.0, n=2000), Sample(share=1.0, n=2000))
    assert pytest.approx(0.6) == perfect.share
    turned = found.complement
    assert found.share is not None
    assert found.interval is not None
    assert turned.interval is not None
    assert pytest.approx(1 - found.share) == turned.share
    assert pytest.approx(1 - found.interval.high) == turned.interval.low


def test_the_interval_carries_labels_and_sample() -> None:
    def width(trials: int, labels: int) -> float:
        rates = Sample(share=0.9, n=labels), Sample(share=0.85, n=labels)
        interval = corrected_share(Sample(share=0.7, n=trials), *rates).interval
        assert interval is not None
        return interval.high - interval.low

    assert width(400, 100) < width(100, 100)
    assert width(400, 400) < width(400, 100)
    assert width(10**6, 60) > 0.1  # any number of trials leaves the labels' uncertainty


def test_trials_without_an_answer_may_be_either() -> None:
    found, whole = (
        corrected_share(Sample(share=0.7, n=400), Sample(share=0.9, n=200), Sample(share=0.9, n=200), unanswered)
        for unanswered in (0.2, 0.0)
    )
    assert found.interval is not None
    assert whole.interval is not None
    assert pytest.approx(0.8 * whole.interval.low) == found.interval.low
    assert pytest.approx(0.8 * whole.interval.high + 0.2) == found.interval.high
    many = corrected_share(Sample(share=0.7, n=400), Sample(share=0.9, n=200), Sample(share=0.9, n=200), 0.45)
    assert many.refused is not None


def _drawn(source: random.Random, share: float, n: int) -> Sample:
    return Sample(share=sum(source.random() < share for _ in range(n)) / n, n=n)


@pytest.mark.parametrize("truth", [0.05, 0.3, 0.7, 0.95])
@pytest.mark.parametrize(("positive", "negative", "labels"), [(0.95, 0.9, 30), (0.85, 0.85, 60), (0.97, 0.8, 100)])
def test_the_interval_holds_the_truth_and_the_raw_share_does_not(
    truth: float, positive: float, negative: float, labels: int
) -> None:
    source, kept, held = random.Random(f"{truth}{positive}"), 0, 0
    for _ in range(400):
        passed = _drawn(source, truth * positive + (1 - truth) * (1 - negative), 200)
        found = corrected_share(passed, _drawn(source, positive, labels), _drawn(source, negative, labels))
        if found.interval is not None:
            kept += 1
            held += found.interval.low <= truth <= found.interval.high
    assert kept > 380
    assert held / kept >= 0.93


@pytest.mark.parametrize(
    ("trials", "rates", "labels", "needed"),
    [
        (200, (0.5, 0.5), 1000, "no number"),
        (200, (0.7, 0.7), 10, r"better than chance: \d+ of each class"),
        (200, (1.0, 1.0), 4, r"\d+ labels of each class"),
        (4, (1.0, 1.0), 100, r"\d+ judged trials"),
    ],
)
def test_what_means_nothing_is_refused_with_the_number_needed(
    trials: int, rates: tuple[float, float], labels: int, needed: str
) -> None:
    positive, negative = (Sample(share=one, n=labels) for one in rates)
    found = corrected_share(Sample(share=0.5, n=trials), positive, negative)
    assert found == Corrected(refused=found.refused)
    with pytest.raises(AssertionError, match=needed):
        raise AssertionError(found.refused)


def test_a_judge_that_is_right_in_four_of_five_is_rarely_certified() -> None:
    """The chance of a certificate at the limit, exactly: at most 3 % at every number of labels."""
    for labels in range(16, 101):
        least = next(right for right in range(labels + 1) if _certified(right, labels))
        chance = sum(
            math.comb(labels, right) * 0.8**right * 0.2 ** (labels - right) for right in range(least, labels + 1)
        )
        assert chance <= 0.03
    assert not _certified(15, 15)
    assert _certified(16, 16)


def _certified(right: int, labels: int) -> bool:
    return ClassRate(labels=labels, right=right, effective=labels).interval.low >= LEAST_RATE
