"""Files and folders: made durable, written atomically, appended to, and read from untrusted sources."""

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedRandom, BufferedReader
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from harness.errors import ResultsError
from harness.processes import partial_name

# Folders and files that are on the disk, and not only on their way to it, when a function returns.


def is_folder(path: Path) -> bool:
    """Whether the folder exists. A path from a user may exceed the maximum length of a name, for which `Path.is_dir`
    raises OSError.
    """
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises for a long name


def is_file(path: Path) -> bool:
    """The same for a plain file."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises for a long name


def make_folder(folder: Path) -> None:
    """Makes the folder and those above it; only what is new costs anything."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        flush_folder(folder.parent)


def flush_folder(folder: Path) -> None:
    """Flushes the folder's own changes to the disk: created, renamed and removed entries."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(root: Path) -> None:
    """All files and folders below `root`, and it itself."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            if not path.is_symlink():
                with path.open("rb") as stream:
                    os.fsync(stream.fileno())
        flush_folder(Path(folder))


# Writes files atomically: a reader sees the old one or the new one.


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


# Reads folders from untrusted sources: only plain files and folders in them are opened.
#
# A run folder may be the artefact of an untrusted job. A link in it can lead to any file of this machine, a FIFO
# blocks
# the process that opens it, and a sparse file has any size. Therefore every entry is checked before it is used, and
# opened without following links.

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
    """The file, new if there is none, to be read and added to. Raises as `open_plain` does."""
    return os.fdopen(_handle(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "r+b")


def read_plain_file(path: Path) -> bytes:
    """All of it, at most MAX_BYTES. Raises as `open_plain` does."""
    with open_plain(path) as stream:
        size = os.fstat(stream.fileno()).st_size  # a read of MAX_BYTES would take that much memory for any file
        return stream.read(min(size, MAX_BYTES))


def check_entries(root: Path, *, besides: frozenset[str] = frozenset()) -> None:
    """Raises UnusableEntry for the first entry below `root` that is neither a plain file nor a folder, and if its
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


# A file of JSON objects, one for each line, to which one process appends: paid answers are stored before they are
# used.


class Journal:
    """An append-only journal; without a path nothing is stored."""

    def __init__(self, path: Path | None, remedy: str) -> None:
        """`remedy` is the remedy in the error about a damaged line."""
        self._path = path
        self._remedy = remedy

    def entries(self) -> list[Mapping[str, JsonValue]]:
        """The entries added so far. An incomplete last line is removed.

        Raises ResultsError for any other line that is not a JSON object.
        """
        if self._path is None or not self._path.exists():
            return []
        with open_plain(self._path) as stream:
            content = stream.read()
        *whole, torn = content.split(b"\n")
        found = [self._entry(number, line) for number, line in enumerate(whole, 1)]
        if torn:
            os.truncate(self._path, len(content) - len(torn))
        return found

    def add(self, entries: Sequence[Mapping[str, object]]) -> None:
        """Appends the entries; they are on the disk when it returns."""
        if self._path is None or not entries:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open_plain_to_add(self._path) as stream:
            stream.write(b"".join(json.dumps(entry, ensure_ascii=False).encode() + b"\n" for entry in entries))
            stream.flush()
            os.fsync(stream.fileno())

    def damaged(self, number: int) -> ResultsError:
        """The error about the line of that number, from 1."""
        return ResultsError(f"{self._path}, line {number}: is damaged", remedy=self._remedy)

    def _entry(self, number: int, line: bytes) -> Mapping[str, JsonValue]:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise self.damaged(number) from None
        if not isinstance(entry, dict):
            raise self.damaged(number)
        return entry
