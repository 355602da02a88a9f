"""A file of JSON objects, one for each line, to which one process appends: paid answers are stored before they are
used.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.errors import ResultsError
from harness.plain_files import open_plain, open_plain_to_add
from harness.values import JsonValue


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
