"""Which files of an agent its program has opened, as the kernel reports it (inotify).

The frozen files of an agent are read in place, by a process of this machine or through a read-only mount of a
container, and nothing of the harness opens them during a trial. A container engine in another kernel reports nothing.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from harness.optimise.candidates.candidate import Candidate

_OPENED: Final = 0x20
_IS_FOLDER: Final = 0x40000000
_OVERFLOW: Final = 0x4000
_HEADER: Final = struct.Struct("iIII")
_AT_ONCE: Final = 1 << 20
_MOST_FOLDERS: Final = 1_000


class OpenedFiles:
    """The files in a folder that any process has opened since the watch began."""

    def __init__(self, descriptor: int | None, folders: dict[int, str], *, certain: bool) -> None:
        self._descriptor = descriptor
        self._folders = folders
        self._certain = certain
        self._names: set[str] = set()

    @property
    def names(self) -> tuple[str, ...] | None:
        """Relative to the folder, sorted; None where it cannot be told."""
        if self._descriptor is not None and not self._drained(self._descriptor):
            self._descriptor = None
        if self._descriptor is None or not (self._names or self._certain):
            return None
        return tuple(sorted(self._names))

    def _drained(self, descriptor: int) -> bool:
        """False where the kernel has dropped events."""
        while True:
            try:
                events = os.read(descriptor, _AT_ONCE)
            except BlockingIOError:
                return True
            place = 0
            while place < len(events):
                watch, mask, _, length = _HEADER.unpack_from(events, place)
                place += _HEADER.size + length
                if mask & _OVERFLOW:
                    return False
                if mask & _OPENED and not mask & _IS_FOLDER:
                    name = os.fsdecode(events[place - length : place].rstrip(b"\0"))
                    self._names.add(f"{self._folders[watch]}{name}")


def texts_read(candidate: Candidate, opened: OpenedFiles) -> tuple[str, ...] | None:
    """The candidate's texts among them; None where it cannot be told."""
    names = opened.names
    return None if names is None else tuple(name for name in names if name in candidate.files)


@contextmanager
def watch_opened(folder: Path | None, *, certain: bool) -> Iterator[OpenedFiles]:
    """Watches all files in the folder until the context ends.

    `certain`: the programs run on this machine's kernel, so that no report means that nothing was opened. Otherwise at
    least one file has to be reported, such as the program's own.
    """
    descriptor, folders = _begun(folder)
    try:
        yield OpenedFiles(descriptor, folders, certain=certain)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _begun(folder: Path | None) -> tuple[int | None, dict[int, str]]:
    """None where the kernel cannot watch the folder."""
    if folder is None or sys.platform != "linux":
        return None, {}
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if descriptor < 0:
        return None, {}
    folders: dict[int, str] = {}
    for path in _folders(folder):
        watch = library.inotify_add_watch(descriptor, os.fsencode(path), _OPENED)
        if watch < 0 or len(folders) == _MOST_FOLDERS:
            os.close(descriptor)
            return None, {}
        inside = path.relative_to(folder).as_posix()
        folders[watch] = "" if inside == "." else f"{inside}/"
    return descriptor, folders


def _folders(folder: Path) -> Iterator[Path]:
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            yield path
