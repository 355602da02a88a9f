"""Between releases that really differ drift is what the changelog says; between runs of one release there is none.

One pair of those that `python -m qa.drift_real.run` looks at: all of them take three minutes.
"""

from pathlib import Path

import pytest

from qa.drift_real.run import outcome_of, pairs, same_release

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("releases")


def test_every_announced_change_is_found_and_nothing_else(environments: Path, tmp_path: Path) -> None:
    found = outcome_of(pairs()[0], environments, tmp_path)
    assert 32 == len(found.announced)
    assert [] == found.missed
    assert [] == found.false


def test_a_noisy_release_that_is_recorded_and_run_live_three_times_is_never_said_to_drift(
    environments: Path, tmp_path: Path
) -> None:
    assert [0] * 3 == [len(told) for told in same_release("datasette-0.64.8", environments, tmp_path, 3)]
