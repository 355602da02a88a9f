"""Levels of repeated tests add up to the level of one test."""

import pytest

from harness.scoring.statistics.significance import LEVEL, level_of, level_of_look


def test_the_levels_of_all_releases_and_of_all_looks_at_one_add_up_to_one_level() -> None:
    assert (0.025, 0.05 / 6, 0.05 / 12) == pytest.approx(tuple(map(level_of, (1, 2, 3))))
    assert pytest.approx(LEVEL * (1 - 1 / 1001)) == sum(map(level_of, range(1, 1001)))
    for number in (1, 4):
        looks = [level_of_look(number, look) for look in range(1, 1001)]
        assert level_of(number) / 2 == pytest.approx(looks[0])
        assert level_of(number) * (1 - 1 / 1001) == pytest.approx(sum(looks))
