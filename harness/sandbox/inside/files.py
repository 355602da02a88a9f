"""Files of the sandbox: created from the snapshot, read, written, listed, and compared with the restored ones."""

from __future__ import annotations

import posix
import time

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from harness.sandbox.inside.wire import Channel


# Paths are as the sandbox's contract shows them (`/work/...`); `WritablePlaces` says where they are, which differs only
# outside of a container. Folders are entered by descriptor and no link is followed on the way.

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from harness.sandbox.inside.wire import Channel

    Entry = tuple[bytes, int, bytes, int, posix.stat_result]
    """Its path, its folder's descriptor, its name, its depth, and its state."""

KIND = 0o170000
FOLDER = 0o040000
FILE = 0o100000
LINK = 0o120000
CHUNK = 1 << 18
DEPTH_MAX = 128
NO_LINKS = posix.O_NOFOLLOW | posix.O_CLOEXEC


class WritablePlaces:
    """The writable places: their paths in the sandbox, and their real paths."""

    def __init__(self, pairs: list[list[bytes]], *, confined: bool) -> None:
        self._pairs = [(shown, real) for shown, real in pairs]
        self._confined = confined

    def tracked(self) -> list[tuple[bytes, bytes]]:
        """All places but the temporary folder, whose content is not a result."""
        return [pair for pair in self._pairs if pair[0] != b"/tmp"]

    def without(self, left_out: Callable[[bytes], bool]) -> WritablePlaces:
        """The places without `left_out`, by their paths in the sandbox."""
        return WritablePlaces(
            [[shown, real] for shown, real in self._pairs if not left_out(shown)], confined=self._confined
        )

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
        """Outside of a container a link may lead anywhere: the path of the opened file must be below a place."""
        if not self._confined:
            return
        target = posix.readlink(b"/proc/self/fd/%d" % fd)
        if not any(target.startswith(real + b"/") for _, real in self._pairs):
            raise PermissionError(13, "a link leads out of the sandbox")


def create(channel: Channel, count: int, places: WritablePlaces) -> None:
    """Reads `count` entries from the channel and creates them as the current user.

    If one cannot be created, the first error is raised after all have been read, so that the channel stays usable.
    """
    folders: list[tuple[bytes, int]] = []
    refused: OSError | None = None
    for _ in range(count):
        entry = channel.receive()
        content = _Content(channel, entry["size"])
        try:
            if refused is None:
                _create_entry(entry, places.real(entry["path"]), content, folders)
        except OSError as error:
            refused = error
        content.skip()
    if refused is not None:
        raise refused
    for path, mode in reversed(folders):
        posix.chmod(path, mode)


def read(path: bytes, limit: int, places: WritablePlaces) -> bytes:
    """At most `limit` + 1 bytes, so that the caller can detect a larger file."""
    fd = posix.open(places.real(path), posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC)
    try:
        places.check(fd)
        kind = posix.fstat(fd).st_mode & KIND
        if kind == FOLDER:
            raise IsADirectoryError(21, "Is a directory")
        if kind != FILE:
            raise OSError(22, "Not a regular file")
        parts = []
        while limit >= 0:
            part = posix.read(fd, min(CHUNK, limit + 1))
            if not part:
                break
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    finally:
        posix.close(fd)


def write(path: bytes, content: bytes, places: WritablePlaces) -> None:
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


def walk(places: WritablePlaces) -> Iterator[Entry]:
    """Each entry below the tracked places, sorted."""
    for shown, real in places.tracked():
        yield from _walk_folder(shown, posix.open(real, posix.O_RDONLY | posix.O_DIRECTORY | NO_LINKS), 1)


def _walk_folder(shown: bytes, folder: int, depth: int) -> Iterator[Entry]:
    try:
        for text in sorted(posix.listdir(folder)):
            name = text.encode("utf-8", "surrogateescape")
            state = posix.stat(name, dir_fd=folder, follow_symlinks=False)
            path = shown + b"/" + name
            yield path, folder, name, depth, state
            if state.st_mode & KIND == FOLDER and depth < DEPTH_MAX:
                flags = posix.O_RDONLY | posix.O_DIRECTORY | NO_LINKS
                yield from _walk_folder(path, posix.open(name, flags, dir_fd=folder), depth + 1)
    finally:
        posix.close(folder)


class _Content:
    """The bytes after an entry, which must be read even if they are not needed."""

    def __init__(self, channel: Channel, size: int) -> None:
        self._channel = channel
        self._left = size

    def parts(self) -> Iterator[bytes]:
        while self._left > 0:
            part = self._channel.receive_content(min(CHUNK, self._left))
            self._left -= len(part)
            yield part

    def skip(self) -> None:
        for _ in self.parts():
            continue


def _create_entry(entry: dict[str, Any], path: bytes, content: _Content, folders: list[tuple[bytes, int]]) -> None:
    kind = entry["kind"]
    if kind == b"directory":
        folders.append((path, entry["mode"]))
        try:
            posix.mkdir(path, 0o700)
        except FileExistsError:
            return  # a place itself
    elif kind == b"link":
        posix.symlink(entry["link"], path)
    else:
        _create_file(path, content, entry["mode"])


def _create_file(path: bytes, content: _Content, mode: int) -> None:
    fd = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | NO_LINKS, 0o600)
    try:
        for part in content.parts():
            _write_all(fd, part)
        posix.fchmod(fd, mode)
    finally:
        posix.close(fd)


def _make_parents(path: bytes) -> None:
    at = path.find(b"/", 1)
    while at != -1:
        try:
            posix.mkdir(path[:at], 0o755)
        except OSError as error:
            if error.errno not in (17, 13, 30):  # exists already, or a parent folder that cannot be written
                raise
        at = path.find(b"/", at + 1)


def _write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[posix.write(fd, view) :]


# The files of a sandbox that differ from the restored ones when a trial ends.
#
# An entry with an unchanged stamp is not read again, with one exception: writing through a shared mapping changes no
# time of a file in a tmpfs. Therefore the snapshot files that the agent may write are compared by content.

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
