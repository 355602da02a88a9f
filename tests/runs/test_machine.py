"""How many trials the machine is thought to hold."""

import pytest

from harness.runs.trial.parallel import MOST, free_memory_mb, jobs_held, processors, trials_held
from harness.suite.cases import Limits


def test_small_trials_work_one_a_processor() -> None:
    small = [Limits(memory_mb=32)]
    assert 1 <= processors() == jobs_held(small)
    assert jobs_held(small) <= trials_held(small) <= MOST


@pytest.mark.parametrize("held", [jobs_held, trials_held])
def test_trials_that_may_take_all_memory_run_one_at_a_time(held) -> None:
    assert 1 == held([Limits(memory_mb=32), Limits(memory_mb=4 * free_memory_mb())])


def test_no_trial_at_all_is_no_error() -> None:
    assert processors() == jobs_held([])
