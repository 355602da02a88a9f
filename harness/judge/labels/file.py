"""A label file: one JSON line a label, in the project, committed with it. Lines are only ever added."""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from harness.errors import InvalidDocument
from harness.judge.labels.label import Label


def label_path(project: Path, suite: str, rubric: str) -> Path:
    """`suites/<suite>/labels/<rubric>.jsonl`."""
    return project / "suites" / suite / "labels" / f"{rubric}.jsonl"


class LabelFile:
    """Reads and adds labels. Several people's pages may add at a time: each line is written whole, and at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, label: Label) -> None:
        """Adds one line and flushes it to disk. Raises InvalidDocument where the file cannot be written."""
        line = label.model_dump_json(exclude_defaults=True).encode() + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab+") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX)
                if self._is_torn(stream.fileno()):
                    line = b"\n" + line
                stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise InvalidDocument(self.path, f"cannot be written: {error.strerror}") from None

    def lines(self) -> Iterator[tuple[int, Label | str]]:
        """Each line's number (from 1) with its label, or in words why it holds none. No file: no line."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise InvalidDocument(self.path, f"cannot be read: {error.strerror}") from None
        for number, line in enumerate(content.split(b"\n"), 1):
            if line.strip():
                yield number, _read(line)

    def _is_torn(self, descriptor: int) -> bool:
        """Whether a killed writer left the last line without its end."""
        size = os.fstat(descriptor).st_size
        return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _read(line: bytes) -> Label | str:
    try:
        return Label.model_validate(json.loads(line))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            return f"is no label: field {field!r}: {first['msg']}"
        return "is not a JSON object"
