"""A tenth of an hour of `make soak --only kill` in a minute: at least ten kills, a seed that is always the same."""

from random import Random

import pytest

from tests.soak.kills import rows

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_what_was_finished_stays_and_nothing_is_left_behind_whenever_the_harness_is_killed() -> None:
    assert [] == [row for row in rows(Random(20260131), 0.03) if not row.good]
