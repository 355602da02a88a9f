"""The faults that every CI run tries; `make soak` tries all of them, and longer."""

from collections.abc import Iterator

import pytest

from qa.soak.faults import engine, evidence, surroundings
from qa.soak.faults.place import Place, place

pytestmark = [pytest.mark.docker, pytest.mark.slow]

QUICK = [fault for fault in (*surroundings.FAULTS, *evidence.FAULTS) if fault.quick]


@pytest.fixture(scope="module")
def here() -> Iterator[Place]:
    """The project of all faults."""
    with place() as made:
        yield made


@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: fault.what)
def test_a_fault_is_told_or_outlasted_and_leaves_nothing(here: Place, fault: surroundings.Fault) -> None:
    (row,) = surroundings.rows(here, (fault,))
    assert row.good, row


def test_containers_that_are_killed_cost_a_retry_and_nothing_else(here: Place) -> None:
    rows = list(engine.rows(here, 12, engine.DISTURBANCES[:1]))
    assert 2 == len(rows)
    assert [] == [row for row in rows if not row.good]
