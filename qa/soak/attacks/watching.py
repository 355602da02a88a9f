"""Who touches the files of a folder: the kernel is asked, so that nothing that is opened and closed goes unseen."""

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OPEN, _MODIFY, _CREATE, _DELETE, _MOVED = 0x20, 0x2, 0x100, 0x200, 0x40 | 0x80
_HEAD = struct.Struct("iIII")


class Watched:
    """Names of what was opened, written, made or removed in a folder since it was last asked."""

    def __init__(self, folder: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue = self._libc.inotify_init1(os.O_NONBLOCK)
        self._folders: dict[int, Path] = {}
        for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
            mask = _OPEN | _MODIFY | _CREATE | _DELETE | _MOVED
            number = self._libc.inotify_add_watch(self._queue, os.fsencode(place), mask)
            if number < 0:
                raise OSError(ctypes.get_errno(), f"{place} cannot be watched")
            self._folders[number] = place

    def touched(self) -> list[str]:
        found: list[str] = []
        while True:
            try:
                events = os.read(self._queue, 1 << 16)
            except BlockingIOError:
                return sorted(set(found))
            at = 0
            while at < len(events):
                number, _, _, length = _HEAD.unpack_from(events, at)
                name = events[at + _HEAD.size : at + _HEAD.size + length].rstrip(b"\0").decode()
                found.append(str(self._folders[number] / name))
                at += _HEAD.size + length

    def close(self) -> None:
        os.close(self._queue)


@contextmanager
def watched(folder: Path) -> Iterator[Watched]:
    watch = Watched(folder)
    try:
        yield watch
    finally:
        watch.close()
