"""Bounds of a success rate that hold at every look."""

import math
import random
from functools import cache

import pytest

from harness.scoring.statistics.intervals import wilson
from harness.scoring.statistics.significance import confidence_sequence


def test_without_trials_every_rate_is_possible():
    found = confidence_sequence(0, 0)
    assert (found.low, found.high) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "trials"), [(0, 20), (20, 20), (1, 1), (300, 400), (7, 50)])
def test_the_bounds_hold_the_rate_seen_and_are_wider_than_those_of_one_look(successes, trials):
    found, once = confidence_sequence(successes, trials), wilson(successes / trials, trials)
    assert once is not None
    assert found.low <= successes / trials <= found.high
    assert found.high - found.low > once.high - once.low
    mirrored = confidence_sequence(trials - successes, trials)
    assert (found.low, found.high) == (pytest.approx(1 - mirrored.high), pytest.approx(1 - mirrored.low))


@pytest.mark.parametrize("level", [0.05, 0.01])
@pytest.mark.parametrize(("successes", "failures"), [(1, 0), (9, 0), (0, 9), (7, 43), (300, 100)])
def test_the_mixtures_likelihood_ratio_reaches_one_by_the_level_at_the_bounds(successes, failures, level):
    """The mixture by factorials: B(s + 1/2, f + 1/2) / B(1/2, 1/2) is (2 s)! (2 f)! / (4^(s + f) s! f! (s + f)!)."""
    n = successes + failures
    above = math.factorial(2 * successes) * math.factorial(2 * failures)
    below = 4**n * math.factorial(successes) * math.factorial(failures) * math.factorial(n)
    found = confidence_sequence(successes, n, level)
    for rate, side in ((found.low, successes), (found.high, failures)):
        if side:
            likelihood = rate**successes * (1 - rate) ** failures
            assert above / below / likelihood == pytest.approx(1 / level, rel=1e-6)
    assert (found.low == 0, found.high == 1) == (not successes, not failures)


@pytest.mark.parametrize("rates", [[0.5] * 20, [0.95] * 20, [1.0] * 10 + [0.0] * 10, [0.1, 0.5, 0.9, 0.97] * 5])
def test_looking_after_every_round_misses_the_true_rate_at_most_as_often_as_stated(rates):
    """Also where the trials are unlike each other, as those of different cases are."""
    chance, truth, missed = random.Random(11), sum(rates) / len(rates), 0
    bounds_of = cache(confidence_sequence)
    for _ in range(300):
        successes = trials = 0
        for _ in range(40):
            successes += sum(chance.random() < rate for rate in rates)
            trials += len(rates)
            bounds = bounds_of(successes, trials)
            if not bounds.low <= truth <= bounds.high:
                missed += 1
                break
    assert missed / 300 <= 0.05


def test_one_look_intervals_would_miss_more_often():
    """What the test above would find where the bounds were not made for looking often."""
    chance, missed = random.Random(11), 0
    for _ in range(300):
        successes = trials = 0
        for _ in range(40):
            successes, trials = successes + sum(chance.random() < 0.5 for _ in range(20)), trials + 20
            bounds = wilson(successes / trials, trials)
            assert bounds is not None
            if not bounds.low <= 0.5 <= bounds.high:
                missed += 1
                break
    assert missed / 300 > 0.1
