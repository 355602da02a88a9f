"""Files that are written as a whole, and what is not a file."""

import os
import threading
from pathlib import Path

from harness.disk import write_atomically, write_output


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_output(pipe, b"a report")
    reader.join(30)
    assert [b"a report"] == read
    assert pipe.is_fifo()


def test_what_is_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert (path.read_bytes(), ["file"]) == (b"new", [one.name for one in path.parent.iterdir()])


def test_a_link_or_a_pipe_that_nobody_typed_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"private")
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(other)
    os.mkfifo(pipe)
    for path in (link, pipe):
        write_atomically(path, b"new")
        assert path.is_file()
        assert not path.is_symlink()
    assert b"private" == other.read_bytes()
