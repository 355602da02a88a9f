"""What the load of `make soak` calls memory that grows."""

from qa.soak.load.running import floors


def test_floods_in_flight_are_no_growth() -> None:
    resident = [100.0 + 80 * (trial % 7 > 0) for trial in range(300)]
    assert [100.0, 100.0] == floors(resident, 64)


def test_what_every_trial_leaves_is() -> None:
    resident = [100.0 + trial / 4 + 80 * (trial % 2) for trial in range(300)]
    assert [116.0, 129.5] == floors(resident, 64)


def test_of_a_single_trial_its_own_memory_is_all_that_is_known() -> None:
    assert [100.0, 100.0] == floors([100.0], 1)
