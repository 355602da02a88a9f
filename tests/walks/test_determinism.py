"""What is pinned has one digest; what cannot be pinned makes the check fail."""

import pytest

from tests.walks.conftest import Walk

pytestmark = pytest.mark.docker

UNPINNED = ("uuid4", "random-numbers", "elapsed-time", "thread-race")


def test_the_drive_thru_is_deterministic(drive_thru: Walk) -> None:
    words = ("--category", "modifiers", "--repeat", "3", "--check-determinism")
    assert "deterministic: 9 trials" in drive_thru("run", "drive_thru", *words).stdout


@pytest.mark.parametrize("case", UNPINNED)
def test_what_cannot_be_pinned_fails_the_check_at_its_step(drive_thru: Walk, case: str) -> None:
    done = drive_thru("run", "determinism", "--case", case, "--repeat", "4", "--check-determinism", status=1)
    assert f"{case}: attempts 1 and" in done.stdout
    assert "differ at step 1" in done.stdout


@pytest.mark.slow
def test_all_that_is_pinned_has_one_digest_over_six_runs(drive_thru: Walk) -> None:
    words = ("--tag", "pinned", "--repeat", "6", "--check-determinism", "--run-name", "pinned")
    assert "deterministic: 30 trials, one digest for each case" in drive_thru("run", "determinism", *words).stdout


@pytest.mark.slow
def test_the_whole_drive_thru_is_deterministic(drive_thru: Walk) -> None:
    words = ("--repeat", "2", "--check-determinism")
    assert "deterministic: 50 trials" in drive_thru("run", "drive_thru", *words).stdout
