"""Shifts of a rate: the reference, the look that raises an alarm, the look at which it began, and its end."""

import pytest

from harness.stats import RateDetector, is_over, reference_of

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


def test_a_shift_is_over_only_where_the_looks_say_so() -> None:
    reference = reference_of(STEADY, margin=0.005, z=1.96)
    assert reference is not None
    assert not is_over([(25, 100)] * 10, reference, 0.25)
    assert not is_over([(5, 100)], reference, 0.06)
    assert is_over([(25, 100), (5, 100), (5, 100), (5, 100)], reference, 0.25)
    assert not is_over([], reference, 0.25)
