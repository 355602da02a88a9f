"""Folders that are written as a whole, and the lock that allows one writer for each."""

import fcntl
import hashlib
import json
import os
import re
import shutil
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from harness.disk import MAX_BYTES, UnusableEntry, flush_folder, make_folder, open_plain, read_plain_file
from harness.errors import ResultsError, os_error_in_words
from harness.processes import abandoned_partials, partial_name
from harness.suite.problems import first_words

# Folders that are committed as a whole: everything is written and flushed in a temporary folder beside the target,
# which is then renamed.
#
# A reader sees a complete folder or none, even if the harness was killed at any moment. Each folder holds `seal.json`
# with the SHA-256 digests of its files, so that later damage is detected.

T = TypeVar("T")

CHECKSUMS_FILE = "seal.json"
_UNFINISHED = "unfinished"
_PART_BYTES = 1 << 16  # more is a mapping of its own from the system for each part, however short the file is


def json_bytes(value: BaseModel | JsonValue) -> bytes:
    """Indented JSON, ASCII only: names that are not valid Unicode, as file names can be, are kept as escapes."""
    if isinstance(value, BaseModel):
        return _quick(value, 1) or json_bytes(value.model_dump(by_alias=True))
    return (json.dumps(value, indent=1, ensure_ascii=True) + "\n").encode()


def json_line(value: BaseModel) -> bytes:
    quick = _quick(value, None)
    if quick is not None:
        return quick
    return (json.dumps(value.model_dump(by_alias=True), ensure_ascii=True, separators=(",", ":")) + "\n").encode()


def commit_folder(target: Path, files: dict[str, bytes | Path]) -> None:
    """Makes the folder `target` with these files (content, or a file to copy); it must not exist yet."""
    make_folder(target.parent)
    unfinished = target.parent / partial_name(f"{_UNFINISHED}-{target.name}")
    unfinished.mkdir()
    place = str(unfinished)  # joining texts takes a tenth of the time of joining paths
    try:
        with ExitStack() as unflushed:  # all at the end: the file system commits the first together with the others
            checksums: dict[str, JsonValue] = {
                name: _write(f"{place}/{name}", content, unflushed) for name, content in files.items()
            }
            _write(f"{place}/{CHECKSUMS_FILE}", json_bytes(checksums), unflushed)
        flush_folder(unfinished)
        unfinished.rename(target)
        flush_folder(target.parent)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        refused = os_error_in_words(error)
        raise ResultsError(f"{target} cannot be written: {error.strerror or error}", remedy=refused.remedy) from error
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def remove_unfinished(root: Path) -> None:
    """Removes incomplete folders of a killed harness; only for the single writer."""
    for path in sorted(root.rglob(f".{_UNFINISHED}-*")):
        shutil.rmtree(path, ignore_errors=True)
    for path in abandoned_partials(root):
        path.unlink(missing_ok=True)


def read_checked(folder: Path, name: str) -> bytes:
    """Reads a file of a committed folder. Raises ResultsError naming the file that is missing or differs from its
    digest.
    """
    content = _file_content(folder / name)
    if hashlib.sha256(content).hexdigest() != _checksums(folder).get(name):
        raise _damaged(folder / name, "does not match its checksum")
    return content


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    try:
        with open_plain(path) as stream:
            yield stream
    except UnusableEntry as error:
        raise refused_entry(error) from None
    except OSError as error:
        raise _damaged(path, f"cannot be read: {error.strerror}") from None


@contextmanager
def open_checked(folder: Path, name: str) -> Iterator[BufferedReader]:
    """A file of a committed folder, to be read line by line; raises ResultsError as `read_checked` does."""
    with _opened(folder / name) as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != _checksums(folder).get(name):
            raise _damaged(folder / name, "does not match its checksum")
        stream.seek(0)
        yield stream


def read_part(path: Path, start: int, length: int, digest: str) -> bytes:
    """A part of a file, with this digest; raises ResultsError."""
    with _opened(path) as stream:
        stream.seek(start)
        content = stream.read(min(length, MAX_BYTES))
    if hashlib.sha256(content).hexdigest() != digest:
        raise _damaged(path, "does not match its checksum")
    return content


def verify_checksums(folder: Path) -> None:
    """Checks every file of a committed folder; raises ResultsError naming the first that is damaged."""
    for name in _checksums(folder):
        with open_checked(folder, name):
            pass


def parsed(path: Path, content: bytes, shape: type[T]) -> T:
    """JSON content as `shape`; raises ResultsError naming the file and the field."""
    adapter = _adapter(cast(Hashable, shape))
    try:
        quick: T = adapter.validate_json(content)  # in one step, twice as quick
    except ValidationError:
        pass  # damaged, or half a surrogate pair, as in file names: the slow parser tells which
    else:
        return quick
    try:
        value: T = adapter.validate_python(json.loads(content))
    except ValidationError as error:
        field, problem = first_words(error)
        raise _damaged(path, f"field {field!r}: {problem}") from None
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"is not JSON: {error}") from None
    return value


@lru_cache(maxsize=64)
def _adapter(shape: Hashable) -> TypeAdapter[Any]:
    """Made once a shape: making one takes longer than reading a scorecard with it."""
    return TypeAdapter(cast(Any, shape))


def read_as(path: Path, shape: type[T]) -> T:
    """A single file as `shape`; raises ResultsError."""
    return parsed(path, _file_content(path), shape)


def _file_content(path: Path) -> bytes:
    try:
        return read_plain_file(path)
    except UnusableEntry as error:
        raise refused_entry(error) from None
    except OSError as error:
        raise _damaged(path, f"cannot be read: {error.strerror}") from None


def refused_entry(error: UnusableEntry) -> ResultsError:
    """An entry of a run folder that no command follows or opens."""
    return ResultsError(str(error), remedy="remove it (the harness writes no such file), or copy the run folder again")


def _checksums(folder: Path) -> dict[str, str]:
    checksums = read_as(folder / CHECKSUMS_FILE, dict[str, str])
    for name in checksums:
        if name in ("", "..") or name != Path(name).name or not name.isprintable():
            raise _damaged(folder / CHECKSUMS_FILE, f"lists {name[:100]!r}, which is not a file of its folder")
    return checksums


def _damaged(path: Path, problem: str) -> ResultsError:
    return ResultsError(f"{path} {problem}", remedy="the run folder is damaged: run again under another name")


def _quick(value: BaseModel, indent: int | None) -> bytes | None:
    """Several times quicker than by way of Python's values; None: half a surrogate pair is in it."""
    try:
        return value.model_dump_json(by_alias=True, indent=indent, ensure_ascii=True).encode() + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError):
        return None


def _write(path: str, content: bytes | Path, unflushed: ExitStack) -> str:
    """Returns the digest of the written bytes, which a file that grows meanwhile cannot change; `unflushed` flushes the
    file.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    unflushed.callback(os.close, handle)
    digest = hashlib.sha256()
    for part in (content,) if isinstance(content, bytes) else _chunks(content):
        digest.update(part)
        _write_all(handle, part)
    unflushed.callback(os.fsync, handle)
    return digest.hexdigest()


def _write_all(handle: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


def _chunks(file: Path) -> Iterator[bytes]:
    with open_plain(file) as stream:
        while part := stream.read(_PART_BYTES):
            yield part


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
    """Whether some harness writes the run folder now; None if this system does not tell.

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
