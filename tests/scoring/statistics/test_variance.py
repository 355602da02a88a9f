"""Variance between and within cases."""

import random

import pytest

from harness.scoring.statistics.intervals import noise_margin, variance_components


def test_a_balanced_layout_gives_the_textbook_values():
    found = variance_components({"a": [1, 3], "b": [5, 7], "c": [9, 11]})
    assert found is not None
    assert found.within_cases == 2.0  # six deviations of 1, on three degrees of freedom
    assert found.between_cases == 15.0  # mean square 32, less 2, over two trials
    assert found.share_between == pytest.approx(15 / 17)


def test_an_unbalanced_layout_gives_the_values_worked_out_by_hand():
    found = variance_components({"a": [0, 2, 4], "b": [6, 8], "c": [10], "never tried": []})
    assert found is not None
    assert found.within_cases == pytest.approx(10 / 3)  # squares 8 + 2 + 0, on 6 - 3 degrees of freedom
    # grand mean 5; squares 3 * 9 + 2 * 4 + 25 = 60 on 2 degrees; n0 = (6 - 14 / 6) / 2
    assert found.between_cases == pytest.approx((30 - 10 / 3) / (11 / 6))
    assert [46, 5] == [found.trials_to_tell(difference) for difference in (1.07, 3.5)]


def test_unequal_numbers_of_trials_recover_planted_components():
    chance = random.Random(7)
    cases = {f"c{n}": chance.gauss(0, 2) for n in range(4000)}
    drawn = {name: [chance.gauss(mean, 3) for _ in range(chance.choice((1, 2, 6)))] for name, mean in cases.items()}
    found = variance_components(drawn)
    assert found is not None
    assert found.between_cases == pytest.approx(4, rel=0.15)
    assert found.within_cases == pytest.approx(9, rel=0.05)


def test_what_cannot_be_told_is_none():
    assert variance_components({"a": [1, 0]}) is None
    assert variance_components({"a": [1], "b": [0]}) is None
    constant = variance_components({"a": [1, 1], "b": [1, 1]})
    assert constant is not None
    assert (0.0, None) == (constant.between_cases, constant.share_between)
    assert 0.0 == noise_margin([]) == noise_margin([[1.0], [0.0]])


def test_less_variance_between_cases_than_chance_gives_is_none():
    found = variance_components({"a": [0, 4], "b": [1, 3]})
    assert found is not None
    assert (0.0, 5.0, 0.0) == (found.between_cases, found.within_cases, found.share_between)


def test_trials_that_agree_ask_for_no_more():
    found = variance_components({"a": [1, 1], "b": [0, 0]})
    assert found is not None
    assert (found.within_cases, found.share_between, found.trials_to_tell(0.05)) == (0.0, 1.0, 0)


def test_the_trials_that_are_asked_for_have_the_power_that_is_promised():
    chance = random.Random(3)
    rates = [0.2, 0.5, 0.8, 0.9] * 5
    found = variance_components({str(n): [chance.random() < rate for _ in range(400)] for n, rate in enumerate(rates)})
    assert found is not None
    each = found.trials_to_tell(0.1) // len(rates) + 1
    seen = 0
    for _ in range(400):
        gain = [
            sum(chance.random() < r + 0.1 for _ in range(each)) - sum(chance.random() < r for _ in range(each))
            for r in rates
        ]
        mean = sum(gain) / each / len(rates)
        seen += mean > 1.96 * (2 * found.within_cases / each / len(rates)) ** 0.5
    assert 0.72 < seen / 400 < 0.93
