"""The figures of one series of yes and no."""

import pytest

from harness.scoring.statistics.agreement import AnswerPair, binary_agreement


def _items(*cells: tuple[bool, bool, int], one_case: bool = False) -> list[AnswerPair]:
    every = [(right, judged) for right, judged, count in cells for _ in range(count)]
    return [AnswerPair("one" if one_case else str(number), *pair) for number, pair in enumerate(every)]


def test_figures_of_a_lenient_judge() -> None:
    found = binary_agreement(_items((True, True, 60), (False, True, 20), (False, False, 15), (True, False, 5)))
    assert found.agreement.value == 0.75
    assert found.constant == 0.65
    assert found.beats_constant is True
    assert found.true_positive.value == pytest.approx(60 / 65)
    assert found.true_negative.value == pytest.approx(15 / 35)
    assert found.true_negative.n == 35
    assert found.shift == pytest.approx(0.15)


def test_a_judge_that_always_passes_does_not_beat_the_constant_answer() -> None:
    found = binary_agreement(_items((True, True, 90), (False, True, 10)))
    assert found.agreement.value == 0.9
    assert found.beats_constant is False
    assert found.kappa == 0
    assert found.true_negative.value == 0


def test_nothing_to_compare_is_none_and_never_zero() -> None:
    found = binary_agreement([])
    assert found.agreement.value is None
    assert found.agreement.n == 0
    assert found.shift is None
    assert found.beats_constant is None


def test_where_all_is_right_only_one_of_the_two_rates_exists() -> None:
    found = binary_agreement(_items((True, True, 8), (True, False, 2)))
    assert found.true_positive.value == 0.8
    assert found.true_negative.value is None


def test_items_of_one_case_are_no_independent_observations() -> None:
    spread = binary_agreement(_items((True, True, 30), (True, False, 10)))
    together = binary_agreement(_items((True, True, 30), (True, False, 10), one_case=True))
    assert spread.agreement.interval is not None
    assert together.agreement.interval is not None
    assert together.agreement.interval.low < spread.agreement.interval.low - 0.1
