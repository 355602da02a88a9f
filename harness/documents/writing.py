"""Writes files atomically: a reader sees the old one or the new one."""

import os
from pathlib import Path

from harness.disk import flush_folder, make_folder
from harness.process_identity import partial_name


def write_atomically(path: Path, content: bytes) -> None:
    """Writes a temporary file beside `path`, flushes it to disk and renames it: readers see the old file or the new
    one.

    The new file is on the disk when the function returns, so that no later write can survive a crash without it. A
    link, a FIFO or a device at `path` is replaced and never written through, because the folder may come from an
    untrusted source. Raises OSError that names `path`, whichever step failed.
    """
    try:
        _write_beside(path, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_output(path: Path, content: bytes) -> None:
    """Writes as `write_atomically` does, but to a path that a user gave: a device or a pipe is written to directly."""
    if not path.exists() or path.is_file():
        write_atomically(path, content)
        return
    try:
        path.write_bytes(content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_beside(path: Path, content: bytes) -> None:
    make_folder(path.parent)
    temporary = path.with_name(partial_name(path.name))
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
        flush_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
