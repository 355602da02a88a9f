"""One writer per run folder: an advisory lock that the kernel releases when its owner exits."""

import fcntl
import os
import re
from pathlib import Path

from harness.errors import ResultsError

NAME = ".lock"


class WriterLock:
    """A lock that is held from creation until `close`."""

    def __init__(self, folder: Path) -> None:
        path = folder / NAME
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ResultsError(f"{path} cannot be opened: {error.strerror}") from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(self._handle, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._handle)
            raise ResultsError(
                f"run folder {str(folder)!r} is being written by another harness (process {owner})",
                remedy="wait until it has ended, or stop it; then use --resume",
            ) from None
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Lets others write; safe to call twice."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


_HELD = re.compile(r"FLOCK\s+ADVISORY\s+WRITE\s+(\d+)\s+([0-9a-f]+):([0-9a-f]+):(\d+)")
"""A line of /proc/locks: process, device and inode of a lock that is held."""


def is_being_written(folder: Path) -> bool | None:
    """Whether some harness writes the run folder now; None where this system does not tell.

    Reads the kernel's list instead of trying to take the lock: a reader must not be in a writer's way, even for a
    moment.
    """
    try:
        lock = os.lstat(folder / NAME)
    except OSError:
        return False
    try:
        held = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return any(int(inode) == lock.st_ino for _, _, _, inode in _HELD.findall(held))
