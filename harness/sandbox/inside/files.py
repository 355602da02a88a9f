"""Files of the sandbox: created from the snapshot, read, written, and listed.

Paths are as the sandbox's contract shows them (`/work/...`); `WritablePlaces` says where they are, which differs
only outside of a container. Folders are entered by descriptor and no link is followed on the way.
"""

from __future__ import annotations

import posix

TYPE_CHECKING = False
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

    Where one cannot be created, the first error is raised after all have been read, so that the channel stays usable.
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
    """The bytes after an entry, which must be read even where they are not needed."""

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
