"""A good trial perturbed in one way at a time: just the metrics that the perturbation is about move, the right way."""

import pytest

from harness.scoring.registry import METRICS
from tests.scoring.perturbations import GOOD_VALUES, TABLE, Told, expected, values


def test_the_good_trial_has_the_best_value_of_every_metric() -> None:
    assert GOOD_VALUES == values(Told())


@pytest.mark.parametrize("name", TABLE)
def test_just_these_metrics_move(name: str) -> None:
    told, moved = TABLE[name]
    found, wanted = values(told), expected(told, moved)
    assert {} == {key: found[key] for key in found if found[key] != wanted[key]}


def test_every_metric_is_moved_by_some_perturbation() -> None:
    assert set(METRICS) == {metric for _, moved in TABLE.values() for metric in moved}
