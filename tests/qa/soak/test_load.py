"""The load of `make soak`, short: one attempt at every case, 64 in flight."""

import pytest

from qa.soak.load import rows_of
from qa.soak.load.loaded import Project

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_agents_that_misbehave_change_nothing_for_the_others() -> None:
    with Project() as project:
        found = list(rows_of(project, "docker-warm", 1, 1))
    assert [] == [row for row in found if not row.good]
    assert [48, 36, 144, 2] == [row.tries for row in found]
