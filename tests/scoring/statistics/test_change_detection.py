"""Shifts of a rate: the reference, the look that raises an alarm, the look at which it began, and its end."""

import math

import pytest

from harness.scoring.statistics.significance import RateDetector, RateReference, is_over, reference_of

STEADY = [(5, 100)] * 8


def test_the_bounds_of_a_reference_are_the_score_interval_with_the_margin() -> None:
    found = reference_of([(5, 100)], margin=0.01, z=1.959964)
    assert found is not None
    assert (0.05, 1.0, 100) == (found.rate, found.dispersion, found.observations)
    assert 0.02154 - 0.01 == pytest.approx(found.lower, abs=1e-4)  # Wilson's interval of 5 of 100
    assert 0.11175 + 0.01 == pytest.approx(found.upper, abs=1e-4)


def test_days_that_differ_by_more_than_chance_widen_the_bounds() -> None:
    found = reference_of([(0, 100), (20, 100), (0, 100), (20, 100)], margin=0, z=1.96)
    assert found is not None
    # Pearson's statistic is 44.4 with 3 degrees of freedom, whose 10 % quantile is 0.584.
    assert 44.44 / 0.584 == pytest.approx(found.dispersion, rel=0.02)
    few = reference_of([(40, 400)], margin=0, z=1.96)
    assert few is not None
    assert found.upper - found.lower > 3 * (few.upper - few.lower)


def test_nothing_observed_is_no_reference() -> None:
    assert reference_of([], margin=0, z=1.96) is None
    assert reference_of([(0, 0)], margin=0, z=1.96) is None


@pytest.mark.parametrize(("shifted", "direction"), [((25, 100), "up"), ((0, 300), "down")])
def test_an_alarm_tells_its_look_and_the_look_at_which_the_shift_began(
    shifted: tuple[int, int], direction: str
) -> None:
    reference = reference_of(STEADY, margin=0.005, z=1.96)
    assert reference is not None
    detector = RateDetector(reference, threshold=100)
    assert [None] * 6 == [detector.look(5, 100) for _ in range(6)]
    alarms = [detector.look(*shifted) for _ in range(12)]
    first = next(place for place, alarm in enumerate(alarms) if alarm is not None)
    alarm = alarms[first]
    assert alarm is not None
    assert (direction, 6 + first, 6) == (alarm.direction, alarm.look, alarm.since)
    assert shifted[0] / shifted[1] == pytest.approx(alarm.rate)
    assert alarm.evidence >= alarm.threshold == 200


@pytest.mark.parametrize(("direction", "limit"), [("up", 0.1), ("down", 0.9)])
def test_the_evidence_is_the_mixture_of_shiryaev_roberts_e_detectors(direction: str, limit: float) -> None:
    """M_t = (M_{t-1} + 1) e_t for six odds ratios, with the likelihood ratio of each look to the power 1 / dispersion.

    The other side has no rate beyond it, so that only this one can raise an alarm.
    """
    lower, upper = (0.0, limit) if direction == "up" else (limit, 1.0)
    reference = RateReference(rate=limit, lower=lower, upper=upper, dispersion=2.0, observations=100)
    detector = RateDetector(reference, threshold=0)
    held = dict.fromkeys((1.15, 1.3, 1.6, 2.2, 3.5, 6.0), 0.0)
    for failures, observations in ((12, 100), (30, 50), (0, 0), (7, 100)):
        for ratio in held:
            odds = limit / (1 - limit) * (ratio if direction == "up" else 1 / ratio)
            rate = odds / (1 + odds)
            likelihood = (rate / limit) ** failures * ((1 - rate) / (1 - limit)) ** (observations - failures)
            held[ratio] = (held[ratio] + 1) * math.sqrt(likelihood)
        alarm = detector.look(failures, observations)
        assert alarm is not None
        assert direction == alarm.direction
        assert sum(held.values()) / 6 == pytest.approx(alarm.evidence)


def test_a_reference_that_leaves_no_rate_beyond_it_raises_no_alarm_and_certain_ones_are_watched() -> None:
    nowhere = RateDetector(RateReference(rate=0.5, lower=0.0, upper=1.0, dispersion=1, observations=9), threshold=0)
    assert [None, None] == [nowhere.look(*one) for one in ((0, 50), (50, 50))]
    never = RateDetector(RateReference(rate=0.0, lower=0.0, upper=0.0, dispersion=1, observations=9), threshold=100)
    assert [None, "up"] == [found and found.direction for found in (never.look(0, 1000), never.look(9, 10))]
    always = RateDetector(RateReference(rate=1.0, lower=1.0, upper=1.0, dispersion=1, observations=9), threshold=100)
    assert [None, "down"] == [found and found.direction for found in (always.look(1000, 1000), always.look(1, 10))]


def test_a_shift_is_over_where_a_martingale_says_so_at_the_level_of_its_start() -> None:
    """Looks without a failure under a rate of 0.1 held against the middle, 0.2: n log(0.9 / 0.8) reaches log(2 / 0.05)
    at 32 observations; of the second look on it has to reach log(6 / 0.05), at 41. The mirrored shift is alike.
    """
    low = RateReference(rate=0.1, lower=0.1, upper=0.1, dispersion=1, observations=9)
    high = RateReference(rate=0.9, lower=0.9, upper=0.9, dispersion=1, observations=9)
    wide = RateReference(rate=0.1, lower=0.1, upper=0.1, dispersion=2, observations=9)
    for n, first, later in ((31, False, False), (32, True, False), (40, True, False), (41, True, True)):
        assert first == is_over([(0, n)], low, 0.3) == is_over([(n, n)], high, 0.7) == is_over([(0, 2 * n)], wide, 0.3)
        assert later == is_over([(60, 100), (0, n)], low, 0.3) == is_over([(40, 100), (n, n)], high, 0.7)
    assert is_over([(0, 32)], low, 0.3, level=0.05)
    assert not is_over([(0, 32)], low, 0.3, level=0.01)
    # At a level of 0.75 the bound is log(2.667), reached at 9.
    assert [False, True] == [is_over([(0, n)], low, 0.3, level=0.75) for n in (8, 9)]


@pytest.mark.parametrize(
    ("looks", "dispersion"),
    [
        ([(0, 100), (40, 100)], 1.0),  # two looks tell nothing about their dispersion
        ([(0, 9)] * 5, 1.0),  # neither do looks that are all the same
        ([(9, 9)] * 5, 1.0),
        ([(0, 0), (8, 100), (12, 100)], 1.0),  # nor one without observations
        ([(10, 100)] * 4, 1.0),  # never less than chance gives
        ([(8, 100), (8, 100), (14, 100)], 24 / 9 / 2),  # at rate 0.1, below 5.99 on two degrees
    ],
)
def test_looks_that_differ_as_chance_lets_them_have_their_own_dispersion(
    looks: list[tuple[int, int]], dispersion: float
) -> None:
    found = reference_of(looks, margin=0, z=1.96)
    assert found is not None
    assert dispersion == pytest.approx(found.dispersion)


def test_a_shift_is_over_only_where_the_looks_say_so() -> None:
    reference = reference_of(STEADY, margin=0.005, z=1.96)
    assert reference is not None
    assert not is_over([(25, 100)] * 10, reference, 0.25)
    assert not is_over([(5, 100)], reference, 0.06)
    assert is_over([(25, 100), (5, 100), (5, 100), (5, 100)], reference, 0.25)
    assert not is_over([], reference, 0.25)
