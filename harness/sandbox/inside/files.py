"""Files of the sandbox: laid out from the seal, read, written, and compared with what was laid at the end.

Paths are as the sandbox's contract shows them (`/work/...`); `Places` says where they are, which differs only outside
of a container. Folders are entered by descriptor and no link is followed on the way.
"""

from __future__ import annotations

import posix
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from harness.sandbox.inside.wire import Channel

_KIND = 0o170000
_FOLDER = 0o040000
_FILE = 0o100000
_LINK = 0o120000
_CHUNK = 1 << 18
_DEPTH_MAX = 128
_NO_LINKS = posix.O_NOFOLLOW | posix.O_CLOEXEC
_TICKS_CLOCK = 5  # CLOCK_REALTIME_COARSE, the clock of files' times


class Places:
    """The writable places: as shown, and where they are."""

    def __init__(self, pairs: list[list[bytes]], *, confined: bool) -> None:
        self._pairs = [(shown, real) for shown, real in pairs]
        self._confined = confined

    def tracked(self) -> list[tuple[bytes, bytes]]:
        """All but the temporary folder, which is nobody's result."""
        return [pair for pair in self._pairs if pair[0] != b"/tmp"]

    def real(self, shown: bytes) -> bytes:
        for place, real in self._pairs:
            if shown == place or shown.startswith(place + b"/"):
                return real + shown[len(place) :]
            if shown.startswith(real + b"/"):
                return shown
        if self._confined:
            raise PermissionError(13, "outside of the sandbox's places")
        return shown

    def check(self, fd: int) -> None:
        """Outside of a container a link may lead anywhere: what was really opened must lie in a place."""
        if not self._confined:
            return
        target = posix.readlink(b"/proc/self/fd/%d" % fd)
        if not any(target.startswith(real + b"/") for _, real in self._pairs):
            raise PermissionError(13, "a link leads out of the sandbox")


def lay(channel: Channel, count: int, places: Places) -> None:
    """Takes `count` entries from the channel and creates them as whoever this process is."""
    folders = []
    for _ in range(count):
        entry = channel.receive()
        path = places.real(entry["path"])
        kind = entry["kind"]
        if kind == b"directory":
            folders.append((path, entry["mode"]))
            try:
                posix.mkdir(path, 0o700)
            except FileExistsError:
                continue  # a place itself
        elif kind == b"link":
            posix.symlink(entry["link"], path)
        else:
            _lay_file(channel, path, entry["size"], entry["mode"])
    for path, mode in reversed(folders):
        posix.chmod(path, mode)


def read(path: bytes, limit: int, places: Places) -> bytes:
    """At most `limit` + 1 bytes, so that the caller sees that there are more."""
    fd = posix.open(places.real(path), posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC)
    try:
        places.check(fd)
        kind = posix.fstat(fd).st_mode & _KIND
        if kind == _FOLDER:
            raise IsADirectoryError(21, "Is a directory")
        if kind != _FILE:
            raise OSError(22, "Not a regular file")
        parts = []
        while limit >= 0:
            part = posix.read(fd, min(_CHUNK, limit + 1))
            if not part:
                break
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    finally:
        posix.close(fd)


def write(path: bytes, content: bytes, places: Places) -> None:
    real = places.real(path)
    _make_parents(real)
    if real.endswith(b"/"):
        raise IsADirectoryError(21, "Is a directory")
    fd = posix.open(real, posix.O_WRONLY | posix.O_CREAT | posix.O_NONBLOCK | posix.O_CLOEXEC, 0o644)
    try:
        places.check(fd)
        posix.ftruncate(fd, 0)
        _write_all(fd, content)
    finally:
        posix.close(fd)


def stamps(places: Places) -> dict[bytes, tuple[int, ...]]:
    """What each entry is recognised by; returns when a later change is sure to have another time."""
    found = {}
    latest = 0
    for path, _, _, _, state in _walk(places):
        found[path] = _stamp(state)
        latest = max(latest, state.st_ctime_ns)
    while found and time.clock_gettime_ns(_TICKS_CLOCK) <= latest:
        time.sleep(0.0005)
    return found


class Changes:
    """Sends what is no longer as it was laid, and stops at the bounds: each says that there was more."""

    def __init__(self, channel: Channel, before: dict[bytes, tuple[int, ...]], request: dict[str, Any]) -> None:
        self._channel = channel
        self._before = before
        self._entries_left = request["entries"]
        self._bytes_left = request["bytes"]
        self._problem: bytes | None = None

    def send(self, places: Places) -> None:
        gone = dict.fromkeys(self._before)
        for path, folder, name, depth, state in _walk(places):
            gone.pop(path, None)
            if self._before.get(path) == _stamp(state):
                continue
            if depth == _DEPTH_MAX and state.st_mode & _KIND == _FOLDER:
                self._problem = b"folders are nested deeper than %d levels" % _DEPTH_MAX
            if self._entries_left == 0:
                self._problem = b"more entries changed than are read back"
                gone.clear()  # what was not looked at is not gone
                break
            self._entries_left -= 1
            self._send_entry(path, folder, name, state)
        self._channel.send({"end": 1, "gone": list(gone), "problem": self._problem})

    def _send_entry(self, path: bytes, folder: int, name: bytes, state: posix.stat_result) -> None:
        kind = state.st_mode & _KIND
        entry: dict[str, Any] = {"path": path, "mode": state.st_mode & 0o7777}
        if kind == _LINK:
            self._channel.send({**entry, "kind": b"link", "link": posix.readlink(name, dir_fd=folder)})
        elif kind == _FOLDER:
            self._channel.send({**entry, "kind": b"directory"})
        elif kind != _FILE:
            self._channel.send({**entry, "kind": b"other"})
        elif state.st_size > self._bytes_left:
            self._problem = b"the changed files are larger than is read back"
            self._channel.send({**entry, "kind": b"file", "size": state.st_size})
        else:
            self._bytes_left -= state.st_size
            self._channel.send({**entry, "kind": b"file", "size": state.st_size, "content": 1})
            _send_file(self._channel, folder, name, state.st_size)


def _send_file(channel: Channel, folder: int, name: bytes, size: int) -> None:
    fd = posix.open(name, posix.O_RDONLY | posix.O_NONBLOCK | _NO_LINKS, dir_fd=folder)
    try:
        while size > 0:
            part = posix.read(fd, min(_CHUNK, size))
            if not part:
                raise OSError(5, "a file became shorter while it was read")
            channel.send_content(part)
            size -= len(part)
    finally:
        posix.close(fd)


def _stamp(state: posix.stat_result) -> tuple[int, ...]:
    """A folder's time changes with each entry in it; only its mode is its own."""
    if state.st_mode & _KIND == _FOLDER:
        return (state.st_ino, state.st_mode)
    return (state.st_ino, state.st_mode, state.st_size, state.st_ctime_ns)


def _walk(places: Places) -> Iterator[tuple[bytes, int, bytes, int, posix.stat_result]]:
    """Path, its folder's descriptor, name, depth and state of each entry below the tracked places, sorted."""
    for shown, real in places.tracked():
        yield from _walk_folder(shown, posix.open(real, posix.O_RDONLY | posix.O_DIRECTORY | _NO_LINKS), 1)


def _walk_folder(shown: bytes, folder: int, depth: int) -> Iterator[tuple[bytes, int, bytes, int, posix.stat_result]]:
    try:
        for text in sorted(posix.listdir(folder)):
            name = text.encode("utf-8", "surrogateescape")
            state = posix.stat(name, dir_fd=folder, follow_symlinks=False)
            path = shown + b"/" + name
            yield path, folder, name, depth, state
            if state.st_mode & _KIND == _FOLDER and depth < _DEPTH_MAX:
                flags = posix.O_RDONLY | posix.O_DIRECTORY | _NO_LINKS
                yield from _walk_folder(path, posix.open(name, flags, dir_fd=folder), depth + 1)
    finally:
        posix.close(folder)


def _lay_file(channel: Channel, path: bytes, size: int, mode: int) -> None:
    fd = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | _NO_LINKS, 0o600)
    try:
        while size > 0:
            part = channel.receive_content(min(_CHUNK, size))
            _write_all(fd, part)
            size -= len(part)
        posix.fchmod(fd, mode)
    finally:
        posix.close(fd)


def _make_parents(path: bytes) -> None:
    at = path.find(b"/", 1)
    while at != -1:
        try:
            posix.mkdir(path[:at], 0o755)
        except OSError as error:
            if error.errno not in (17, 13, 30):  # there already, or a higher folder that cannot be written
                raise
        at = path.find(b"/", at + 1)


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[posix.write(fd, view) :]
