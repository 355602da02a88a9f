"""The mutation score of a suite is kept in its baseline, and is a floor afterwards."""

import shutil
from pathlib import Path

import pytest

from harness.errors import NotMeasured
from harness.runs.store.baseline import keep_mutation_score, mutation_floor, read_baseline


@pytest.fixture
def kept(tmp_path: Path, project: Path) -> tuple[Path, str]:
    """A project with a baseline, and the digest of its suite."""
    shutil.copytree(project / "baselines", tmp_path / "baselines")
    return tmp_path, read_baseline(project, "drive_thru").manifest.suite_digest


def test_a_kept_score_is_the_floor(kept: tuple[Path, str]) -> None:
    folder, digest = kept
    keep_mutation_score(folder, "drive_thru", 0.75, 12, digest)
    assert 0.75 == mutation_floor(folder, "drive_thru", digest)
    assert 25 == len(read_baseline(folder, "drive_thru").scorecards)


def test_no_score_is_never_kept_as_zero(kept: tuple[Path, str]) -> None:
    folder, digest = kept
    with pytest.raises(NotMeasured, match="'drive_thru'"):
        keep_mutation_score(folder, "drive_thru", None, 0, digest)


def test_a_score_of_another_suite_is_no_floor(kept: tuple[Path, str]) -> None:
    with pytest.raises(NotMeasured, match="harness baseline"):
        mutation_floor(kept[0], "drive_thru", "0" * 64)
