"""What is pinned has one digest; what cannot be pinned differs at a step."""

import pytest

from harness.runs.determinism import StepDivergence, divergences
from harness.runs.store.folder import RunFolder
from tests.walks.conftest import Walk

pytestmark = pytest.mark.docker

UNPINNED = ("uuid4", "random-numbers", "elapsed-time", "thread-race")


def found(walk: Walk, run: str, trials: int) -> tuple[StepDivergence, ...]:
    stored = [one.trial for one in RunFolder.open(walk.folder / "runs" / run).trials()]
    assert ["finished"] * trials == [one.outcome for one in stored]
    return divergences(stored)


@pytest.mark.slow
def test_the_drive_thru_is_deterministic(drive_thru: Walk) -> None:
    drive_thru("run", "drive_thru", "--only", "category=modifiers", "--trials", "3", "--run-name", "modifiers")
    assert () == found(drive_thru, "modifiers", 9)


@pytest.mark.parametrize("case", [UNPINNED[0], *(pytest.param(case, marks=pytest.mark.slow) for case in UNPINNED[1:])])
def test_what_cannot_be_pinned_differs_at_its_step(drive_thru: Walk, case: str) -> None:
    drive_thru("run", "determinism", "--case", case, "--trials", "4", "--run-name", case)
    (one,) = found(drive_thru, case, 4)
    assert (case, 1) == (one.case_id, one.step)


@pytest.mark.slow
def test_all_that_is_pinned_has_one_digest_over_three_runs(drive_thru: Walk) -> None:
    drive_thru("run", "determinism", "--only", "tag=pinned", "--trials", "3", "--run-name", "pinned")
    assert () == found(drive_thru, "pinned", 15)
