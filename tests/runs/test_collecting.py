"""Python's search for cycles rests while stored values are read, and goes on afterwards."""

import gc
from pathlib import Path

import pytest

from harness.errors import ResultsError
from harness.runs.store.folder import RunFolder, gc_paused


def test_cycles_are_sought_again_after_damage(tmp_path: Path, manifest, record) -> None:
    with RunFolder.create(tmp_path, manifest()) as folder:
        (folder.commit(*record()) / "scorecard.json").write_text("damaged")
        with pytest.raises(ResultsError, match=r"scorecard\.json"):
            folder.scorecards()
    assert gc.isenabled()


def test_whoever_seeks_no_cycles_at_all_is_left_so() -> None:
    gc.disable()
    try:
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_none_are_sought_meanwhile() -> None:
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
