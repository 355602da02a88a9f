"""A run folder has one writer, and who it is is named to the next."""

import os
from pathlib import Path

import pytest

from harness.errors import ResultsError
from harness.runs.store.storage import NAME, WriterLock, is_being_written


def test_a_second_writer_is_refused_and_told_who_writes(tmp_path: Path) -> None:
    first = WriterLock(tmp_path)
    with pytest.raises(ResultsError, match=rf"\(process {os.getpid()}\)"):
        WriterLock(tmp_path)
    (tmp_path / NAME).write_text("")
    with pytest.raises(ResultsError, match=r"\(process unknown\)"):
        WriterLock(tmp_path)
    first.close()
    first.close()
    WriterLock(tmp_path).close()


def test_a_folder_is_being_written_while_its_lock_is_held(tmp_path: Path) -> None:
    assert False is is_being_written(tmp_path)  # nobody has ever written it
    lock = WriterLock(tmp_path)
    assert True is is_being_written(tmp_path)
    lock.close()
    assert False is is_being_written(tmp_path)
