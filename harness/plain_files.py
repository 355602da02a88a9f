"""Reads folders from untrusted sources: only plain files and folders in them are opened.

A run folder may be the artefact of an untrusted job. A link in it can lead to any file of this machine, a FIFO blocks
the process that opens it, and a sparse file has any size. Therefore every entry is checked before it is used, and
opened without following links.
"""

import os
import stat
from collections.abc import Iterator
from io import BufferedRandom, BufferedReader
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 1 << 30
"""Of one file."""
MAX_TOGETHER_BYTES: Final = 4 << 30
"""The limit for all JSON documents in one folder: scorecards are in memory together while a run is reported."""


class UnusableEntry(OSError):
    """An entry that is neither a plain file nor a folder, or is too large: `path`, and in words what it is."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(None, problem, str(path))
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path} {self.problem}"


def open_plain(path: Path) -> BufferedReader:
    """The file, to be read. Raises UnusableEntry, and OSError as `open` does."""
    return os.fdopen(_handle(path, os.O_RDONLY), "rb")


def open_plain_to_add(path: Path) -> BufferedRandom:
    """The file, new where there is none, to be read and added to. Raises as `open_plain` does."""
    return os.fdopen(_handle(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "r+b")


def read_plain_file(path: Path) -> bytes:
    """All of it, at most MAX_BYTES. Raises as `open_plain` does."""
    with open_plain(path) as stream:
        size = os.fstat(stream.fileno()).st_size  # a read of MAX_BYTES would take that much memory for any file
        return stream.read(min(size, MAX_BYTES))


def check_entries(root: Path, *, besides: frozenset[str] = frozenset()) -> None:
    """Raises UnusableEntry for the first entry below `root` that is neither a plain file nor a folder, and where its
    JSON documents are larger together than MAX_TOGETHER_BYTES.

    `root` itself may be a link, because the user typed it. `besides` are names directly in it whose content is not
    checked.
    """
    together = 0
    for place, entry in _entries(root, besides):
        if not entry.is_dir(follow_symlinks=False) and not entry.is_file(follow_symlinks=False):
            path = Path(place) / entry.name
            if entry.is_symlink():
                raise UnusableEntry(path, "is a link, which is not followed")
            raise UnusableEntry(path, f"is {_kind(path.lstat().st_mode)}, and no plain file")
        if entry.name.endswith(".json"):
            size = entry.stat(follow_symlinks=False).st_size
            together += size if size <= MAX_BYTES else 0  # that one is refused by its name when it is read
            if together > MAX_TOGETHER_BYTES:
                raise UnusableEntry(root, f"holds more than {MAX_TOGETHER_BYTES >> 20} MiB of JSON documents")


def size_below(root: Path) -> int:
    """The size in bytes of all plain files below `root` together, sparse ones in full; links are not followed.

    Files beyond MAX_BYTES are left out: each is refused by its name when it is opened.
    """
    together = 0
    for _, entry in _entries(root, frozenset()):
        if entry.is_file(follow_symlinks=False):
            try:
                size = entry.stat(follow_symlinks=False).st_size
            except FileNotFoundError:  # what another process writes there may go meanwhile
                continue
            together += size if size <= MAX_BYTES else 0
    return together


def _handle(path: Path, flags: int) -> int:
    try:
        # Without O_NONBLOCK, opening a FIFO waits for its other end.
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError:
        if path.is_symlink():
            raise UnusableEntry(path, "is a link, which is not followed") from None
        raise
    found = os.fstat(handle)
    problem = None
    if not stat.S_ISREG(found.st_mode):
        problem = f"is {_kind(found.st_mode)}, and no plain file"
    elif found.st_size > MAX_BYTES:
        problem = f"is larger than {MAX_BYTES >> 20} MiB"
    if problem is not None:
        os.close(handle)
        raise UnusableEntry(path, problem)
    return handle


def _entries(root: Path, besides: frozenset[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    waiting = [str(root)]
    while waiting:
        place = waiting.pop()
        try:
            with os.scandir(place) as listed:
                found = list(listed)
        except (FileNotFoundError, NotADirectoryError):  # what another process writes there may go meanwhile
            continue
        for entry in found:
            yield place, entry
            if entry.is_dir(follow_symlinks=False) and not (place == str(root) and entry.name in besides):
                waiting.append(entry.path)


def _kind(mode: int) -> str:
    kinds = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link"}
    return kinds.get(stat.S_IFMT(mode), "a device")
