"""A minute of `make soak --only kill`, always with the same seed: a dozen kills, losses of power, damaged files."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from random import Random

import pytest

from qa.soak.killing.chains import RUN_PHASES, Field, Kill, killing_field
from qa.soak.killing.power import damages, losses_in_a_recording, losses_in_a_run

_CHAINS = 6

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module")
def field() -> Iterator[Field]:
    with killing_field(Random(20260131)) as field:
        yield field


def unharmed(chain: Callable[[], list[Kill]]) -> bool:
    """Raises AssertionError with the first kill that did harm; False: there was none.

    A moment is drawn from how long things took before: where they go quicker the command ends first, and the next
    moment is tried.
    """
    for _ in range(_CHAINS):
        kills = chain()
        for kill in kills:
            assert ([], [], []) == (kill.lost, kill.left, kill.wrong), kill
        if kills:
            return True
    return False


def test_a_build_that_is_killed_is_done_again(field: Field) -> None:
    assert unharmed(lambda: field.build_chain(2))


def test_a_run_that_is_killed_goes_on_to_the_same_scorecards(field: Field) -> None:
    assert unharmed(lambda: field.run_chain("docker", "replay", Counter(RUN_PHASES[1:])))


def test_a_recording_that_is_killed_leaves_whole_tapes_and_goes_on(field: Field) -> None:
    assert unharmed(lambda: field.record_chain(2))


@pytest.mark.parametrize("losses", [losses_in_a_run, losses_in_a_recording])
def test_a_loss_of_power_leaves_nothing_half_made_that_is_taken_as_whole(field: Field, losses) -> None:
    assert [] == [wrong for problems in losses(field, 4) for wrong in problems]
    with closing(losses(field, 40, flushes=False)) as control:
        assert any(control), "a disk that never flushes does no harm: the test shows nothing"


def test_a_damaged_file_of_a_run_is_named_or_made_again(field: Field) -> None:
    assert [] == [wrong for problems in damages(field, 3) for wrong in problems]
