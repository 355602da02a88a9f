"""Where the parts of a store lie in its folder, and the schema version that it was written with.

store.json           schema version, and the key of the pseudonyms (readable by its owner only)
journal/N.jsonl      records as they were acknowledged, in segments; a segment becomes part of a Parquet file
parts/A-B.parquet    the records of the segments A to B, sorted by trace
parts/A-B.index      which traces it holds, and which sessions they name; since schema version 2
deleted/*.json       what was deleted, as digests, until no file contains it any more
scores/*.jsonl       scores of sessions, one file for each batch
judge/               what a judge was asked about sessions, and its answers
outbox/              scores that were not sent yet
watch/               incidents and their charts
"""

import json
import os
import secrets
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.disk import flush_folder, make_folder
from harness.documents import first_words, write_atomically
from harness.errors import ResultsError
from harness.values import Frozen

SCHEMA: Final = 2
"""Raised with every change that an older reader would misread; `migrate` brings older stores up to it."""


class StoreDescription(Frozen):
    """The content of `store.json`."""

    schema_version: int
    key: str
    """Hexadecimal; pseudonyms of secret fields are computed under it."""


class StoreLayout:
    """Paths of one store; opens it, and makes it where there is none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = folder / "journal"
        self.parts = folder / "parts"
        self.deleted = folder / "deleted"
        self.scores = folder / "scores"
        self.judge = folder / "judge"
        self.outbox = folder / "outbox"
        self.watch = folder / "watch"
        self._file = folder / "store.json"

    @property
    def exists(self) -> bool:
        return self._file.is_file()

    def open(self) -> StoreDescription:
        """Raises ResultsError where there is no store, and where a newer harness wrote it."""
        if not self.exists:
            raise ResultsError(
                f"{self.folder} holds no session store", remedy="start a receiver first: harness ingest serve"
            )
        try:
            plain = json.loads(self._file.read_bytes())
            version = plain.get("schema_version") if isinstance(plain, dict) else None
            if isinstance(version, int) and version > SCHEMA:
                raise ResultsError(
                    f"{self._file}: the store has schema version {version}; this harness reads up to {SCHEMA}",
                    remedy="use the harness that wrote it, or a newer one; nothing was changed",
                )
            return StoreDescription.model_validate(plain)
        except ValidationError as error:
            field, problem = first_words(error)
            raise ResultsError(f"{self._file}: is not a description of a store: field {field!r}: {problem}") from None
        except ValueError as error:
            raise ResultsError(f"{self._file}: is not a description of a store: {str(error)[:200]}") from None

    def create(self) -> StoreDescription:
        """Makes what is missing, and returns the description of the store."""
        for folder in (self.journal, self.parts, self.deleted, self.scores, self.watch):
            make_folder(folder)
        if not self.exists:
            made = StoreDescription(schema_version=SCHEMA, key=secrets.token_hex(32))
            self._write(made)
        return self.open()

    def set_version(self, version: int) -> None:
        """States that the store is of this schema version now."""
        self._write(self.open().model_copy(update={"schema_version": version}))

    def _write(self, description: StoreDescription) -> None:
        write_atomically(self._file, (description.model_dump_json(indent=1) + "\n").encode())
        self._file.chmod(0o600)


def segments(folder: Path) -> list[tuple[int, Path]]:
    """Number and path of the journal's segments, oldest first."""
    found = [path for path in _plain_files(folder, ".jsonl") if path.stem.isdecimal()]
    return sorted((int(path.stem), path) for path in found)


def part_ranges(folder: Path) -> list[tuple[int, int, Path]]:
    """First and last segment of every part in force: one that is part of a larger one is left over from merging."""
    found: list[tuple[int, int, Path]] = []
    for path in _settled(folder):
        first, _, last = path.stem.partition("-")
        if first.isdecimal() and last.isdecimal():
            found.append((int(first), int(last), path))
    return [one for one in sorted(found) if not any(_within(one, other) for other in found)]


def _settled(folder: Path) -> list[Path]:
    """The listing that two looks agree on: one look during a merge could miss both the old parts and the new one."""
    before: list[Path] | None = None
    while (now := sorted(_plain_files(folder, ".parquet"))) != before:
        before = now
    return now


def superseded(folder: Path) -> list[Path]:
    """Parts within larger ones."""
    in_force = {path for _, _, path in part_ranges(folder)}
    return [path for path in _plain_files(folder, ".parquet") if path not in in_force]


def _within(one: tuple[int, int, Path], other: tuple[int, int, Path]) -> bool:
    return one[2] != other[2] and other[0] <= one[0] and one[1] <= other[1]


def _plain_files(folder: Path, suffix: str) -> list[Path]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as listed:
        return [
            Path(entry.path)
            for entry in listed
            if entry.name.endswith(suffix) and not entry.name.startswith(".") and entry.is_file(follow_symlinks=False)
        ]


def remove(paths: list[Path]) -> None:
    """Removes files, and flushes their folders."""
    for path in paths:
        path.unlink(missing_ok=True)
    for folder in {path.parent for path in paths}:
        flush_folder(folder)
