"""Files that are written as a whole, and what is no file."""

import os
import threading
from pathlib import Path

from harness.documents.writing import write_atomically


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_atomically(pipe, b"a report")
    reader.join(30)
    assert [b"a report"] == read
    assert pipe.is_fifo()


def test_what_is_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert (path.read_bytes(), ["file"]) == (b"new", [one.name for one in path.parent.iterdir()])
