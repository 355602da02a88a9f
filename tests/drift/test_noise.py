"""What the simulation's table says, on fewer tools."""

from tests.drift.noise import Baseline, simulate


def test_drift_is_found_and_noise_is_not_taken_for_it() -> None:
    row = simulate(Baseline(3, 2), tools=30)
    assert {"removed": 1.0, "type": 1.0, "value": 1.0, "added": 1.0} == row.found
    assert row.false <= 1 / 30


def test_nothing_is_said_of_values_before_they_are_known() -> None:
    row = simulate(Baseline(0, 0), tools=20)
    assert 0.0 == row.found["value"]
    assert 1.0 == row.found["removed"]
