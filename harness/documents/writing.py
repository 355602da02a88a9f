"""Files written so that a reader sees the old one or the new one."""

import os
from pathlib import Path

from harness.disk import flush_folder, make_folder
from harness.process_identity import partial_name


def write_atomically(path: Path, content: bytes) -> None:
    """Writes beside `path`, flushes to disk, then renames over it: readers see the old file or the new one.

    When it returns, the new one is on the disk: what is done after it never lasts without it. A link, a FIFO or a
    device at `path` is replaced too, and never written through: a folder may come from somebody else. Raises OSError
    that names `path`, whichever step failed.
    """
    try:
        _write_beside(path, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_output(path: Path, content: bytes) -> None:
    """As `write_atomically`, to a path that somebody typed: a device or a pipe is written to as it stands."""
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
