"""Labels of people as files of JSON lines: committed with the project, append-only."""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from io import BufferedRandom
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from harness.documents import first_words
from harness.errors import InvalidDocument
from harness.plain_files import read_plain_file
from harness.values import Frozen

Line = TypeVar("Line", bound=BaseModel)
Added = TypeVar("Added", bound=Frozen)


def append_line(path: Path, value: Frozen) -> None:
    """Adds one line and flushes it to disk; several processes may add at a time. Raises InvalidDocument."""
    append_decided(path, lambda: value)


def append_decided(path: Path, decide: Callable[[], Added | None]) -> Added | None:
    """Adds the line that `decide` gives, and returns it; None adds nothing.

    `decide` is called while nobody else adds a line, so that it may read the file first. Raises InvalidDocument.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            value = decide()
            if value is not None:
                _write(stream, value)
    except OSError as error:
        raise InvalidDocument(path, f"cannot be written: {error.strerror}") from None
    return value


def _write(stream: BufferedRandom, value: Frozen) -> None:
    line = value.model_dump_json(exclude_defaults=True).encode() + b"\n"
    stream.write(b"\n" + line if _is_torn(stream.fileno()) else line)
    stream.flush()
    os.fsync(stream.fileno())


def read_lines(path: Path, shape: type[Line]) -> Iterator[tuple[int, Line | str]]:
    """Each line's number (from 1) with its value, or a description of the problem. A missing file has no lines."""
    try:
        content = read_plain_file(path)  # a folder of other people may contain a link or a FIFO
    except FileNotFoundError:
        return
    except OSError as error:
        raise InvalidDocument(path, f"cannot be read: {error.strerror}") from None
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield number, _read(line, shape)


def _is_torn(descriptor: int) -> bool:
    """Whether a killed writer left the last line incomplete."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _read(line: bytes, shape: type[Line]) -> Line | str:
    try:
        return shape.model_validate(json.loads(line))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ValidationError):
            field, problem = first_words(error)
            return f"is no {shape.__name__.lower()}: field {field!r}: {problem}"
        return "is not a JSON object"
