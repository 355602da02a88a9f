"""The files of a sandbox that differ from the restored ones when a trial ends.

An entry with an unchanged stamp is not read again, with one exception: writing through a shared mapping
changes no time of a file in a tmpfs. Therefore the snapshot files that the agent may write are compared by content.
"""

from __future__ import annotations

import posix
import time

from harness.sandbox.inside.files import CHUNK, DEPTH_MAX, FILE, FOLDER, KIND, LINK, NO_LINKS, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from harness.sandbox.inside.files import Entry, WritablePlaces
    from harness.sandbox.inside.wire import Channel

_PATH_MAX = 4095
"""No program can name longer paths, and they cannot be restored."""
_PATHS_TOO_LONG = b"paths are longer than %d bytes" % _PATH_MAX
_TOO_DEEP = b"folders are nested deeper than %d levels" % DEPTH_MAX
_TOO_LARGE = b"the changed files are larger than is read back"
_TOO_MANY = b"more entries changed than are read back"
LISTS_ALL_CHANGES = (_PATHS_TOO_LONG, _TOO_DEEP, _TOO_LARGE)
"""Problems with which paths within the limits are still listed, although without content."""
_TICKS_CLOCK = 5  # CLOCK_REALTIME_COARSE, the clock of files' times


def stamps(places: WritablePlaces) -> dict[bytes, tuple[int, ...]]:
    """The stamp of each entry; returns as soon as a later change certainly has another time."""
    found = {}
    latest = 0
    for path, _, _, _, state in walk(places):
        found[path] = _stamp(state)
        latest = max(latest, state.st_ctime_ns)
    while found and time.clock_gettime_ns(_TICKS_CLOCK) <= latest:
        time.sleep(0.0005)
    return found


def changed(
    places: WritablePlaces, before: dict[bytes, tuple[int, ...]], sums: dict[bytes, bytes], gone: dict[bytes, None]
) -> Iterator[Entry]:
    """Entries in the form of `files.walk` whose stamp differs from `before` or whose content differs from `sums`; the
    rest of `gone` was deleted.
    """
    gone.update(dict.fromkeys(before))
    for path, folder, name, depth, state in walk(places):
        gone.pop(path, None)
        if before.get(path) != _stamp(state) or (path in sums and sums[path] != _sum_of(folder, name)):
            yield path, folder, name, depth, state


class Changes:
    """Sends what has changed, up to the limits; a message names each limit that was exceeded."""

    def __init__(self, channel: Channel, request: dict[str, Any]) -> None:
        self._channel = channel
        self._entries_left = request["entries"]
        self._bytes_left = request["bytes"]
        self._problem: bytes | None = None

    def send(self, found: Iterator[Entry], gone: dict[bytes, None]) -> None:
        """`gone` is complete when all of `found` has been read."""
        for path, folder, name, depth, state in found:
            if len(path) > _PATH_MAX:
                self._problem = _PATHS_TOO_LONG
                continue
            if depth == DEPTH_MAX and state.st_mode & KIND == FOLDER:
                self._problem = _TOO_DEEP
            if self._entries_left == 0:
                self._problem = _TOO_MANY
                gone.clear()  # unexamined entries are not reported as deleted
                break
            self._entries_left -= 1
            self._send_entry(path, folder, name, state)
        self._channel.send({"end": 1, "gone": list(gone), "problem": self._problem})

    def _send_entry(self, path: bytes, folder: int, name: bytes, state: posix.stat_result) -> None:
        kind = state.st_mode & KIND
        entry: dict[str, Any] = {"path": path, "mode": state.st_mode & 0o7777}
        if kind == LINK:
            self._channel.send({**entry, "kind": b"link", "link": posix.readlink(name, dir_fd=folder)})
        elif kind == FOLDER:
            self._channel.send({**entry, "kind": b"directory"})
        elif kind != FILE:
            self._channel.send({**entry, "kind": b"other"})
        elif state.st_size > self._bytes_left:
            self._problem = _TOO_LARGE
            self._channel.send({**entry, "kind": b"file", "size": state.st_size})
        else:
            self._bytes_left -= state.st_size
            self._channel.send({**entry, "kind": b"file", "size": state.st_size, "content": 1})
            _send_file(self._channel, folder, name, state.st_size)


def _sum_of(folder: int, name: bytes) -> bytes:
    from hashlib import sha256  # slow to import, and most states have no file that the agent may write

    found = sha256()
    fd = posix.open(name, posix.O_RDONLY | posix.O_NONBLOCK | NO_LINKS, dir_fd=folder)
    try:
        while part := posix.read(fd, CHUNK):
            found.update(part)
    finally:
        posix.close(fd)
    return found.hexdigest().encode()


def _send_file(channel: Channel, folder: int, name: bytes, size: int) -> None:
    fd = posix.open(name, posix.O_RDONLY | posix.O_NONBLOCK | NO_LINKS, dir_fd=folder)
    try:
        while size > 0:
            part = posix.read(fd, min(CHUNK, size))
            if not part:
                raise OSError(5, "a file became shorter while it was read")
            channel.send_content(part)
            size -= len(part)
    finally:
        posix.close(fd)


def _stamp(state: posix.stat_result) -> tuple[int, ...]:
    """A folder's time changes with each entry in it; only its mode is its own property."""
    if state.st_mode & KIND == FOLDER:
        return (state.st_ino, state.st_mode)
    return (state.st_ino, state.st_mode, state.st_size, state.st_ctime_ns)
