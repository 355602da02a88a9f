"""The files of a store: their layout, segments of the journal, indexes of parts, and deletion."""

import hashlib
import json
import mmap
import os
import secrets
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b, md5
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.disk import flush_folder, make_folder, write_atomically
from harness.errors import ResultsError
from harness.production.record import COLUMNS
from harness.suite.problems import first_words
from harness.values import Frozen

# The places of the parts of a store in its folder, and the schema version that it was written with.
#
# store.json           schema version, and the key of the pseudonyms (readable by its owner only)
# journal/N.jsonl      records as they were acknowledged, in segments; a segment becomes part of a Parquet file
# parts/A-B.parquet    the records of the segments A to B, sorted by trace
# parts/A-B.index      which traces it holds, and which sessions they name; since schema version 2
# deleted/*.json       what was deleted, as digests, until no file contains it any more
# scores/*.jsonl       scores of sessions, one file for each batch
# judge/               what a judge was asked about sessions, and its answers
# outbox/              scores that were not sent yet
# watch/               incidents and their charts

SCHEMA: Final = 2
"""Raised with every change that another reader would misread."""


class StoreDescription(Frozen):
    """The content of `store.json`."""

    schema_version: int
    key: str
    """Hexadecimal; pseudonyms of secret fields are computed under it."""


class StoreLayout:
    """Paths of one store; opens it, and makes it if there is none."""

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
        """Raises ResultsError if there is no store, and if another version of the harness wrote it."""
        if not self.exists:
            raise ResultsError(
                f"{self.folder} holds no session store", remedy="start a receiver first: harness ingest serve"
            )
        try:
            plain = json.loads(self._file.read_bytes())
            version = plain.get("schema_version") if isinstance(plain, dict) else None
            if isinstance(version, int) and version != SCHEMA:
                raise ResultsError(
                    f"{self._file}: the store has schema version {version}; this harness reads {SCHEMA}",
                    remedy="use the harness that wrote it; nothing was changed",
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
            write_atomically(self._file, (made.model_dump_json(indent=1) + "\n").encode())
            self._file.chmod(0o600)
        return self.open()


def segments(folder: Path) -> list[tuple[int, Path]]:
    """Number and path of the journal's segments, oldest first."""
    found = [path for path in _plain_files(folder, ".jsonl") if path.stem.isdecimal()]
    return sorted((int(path.stem), path) for path in found)


def part_ranges(folder: Path) -> list[tuple[int, int, Path]]:
    """First and last segment of every part in force: one that is part of a larger one is left over from merging."""
    found: list[tuple[int, int, Path]] = []
    for path in _stable_listing(folder):
        first, _, last = path.stem.partition("-")
        if first.isdecimal() and last.isdecimal():
            found.append((int(first), int(last), path))
    return [one for one in sorted(found) if not any(_is_within(one, other) for other in found)]


def _stable_listing(folder: Path) -> list[Path]:
    """The listing that two looks agree on: one look during a merge could miss both the old parts and the new one."""
    before: list[Path] | None = None
    while (now := sorted(_plain_files(folder, ".parquet"))) != before:
        before = now
    return now


def superseded(folder: Path) -> list[Path]:
    """Parts within larger ones."""
    in_force = {path for _, _, path in part_ranges(folder)}
    return [path for path in _plain_files(folder, ".parquet") if path not in in_force]


def _is_within(one: tuple[int, int, Path], other: tuple[int, int, Path]) -> bool:
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


# Segments of the journal as SQL: which of their lines are whole records, and what is in them.
#
# A line is `{...,"body":{...}}`. Only its head is parsed by DuckDB, whose parser needs many times a body's size for the
# two thousand lines that it takes at once.

_LONGEST_LINE: Final = 32 << 20
"""Bytes; a record's texts have up to 2 MB characters, of which one takes up to twelve bytes."""
_BODY: Final = ',"body":'
"""Where a line's head ends; within a text, its quotation marks would be escaped."""


def journal_lines(paths: Sequence[Path]) -> str:
    """A subquery over journal segments that passes over what is not a record, such as a torn last line.

    DuckDB's own reader of JSON lines is not used: with `ignore_errors` it returns rows for broken lines.
    """
    shape = ", ".join(f'"{name}": "{kind}"' for name, kind in COLUMNS.items() if name != "body")
    names = ", ".join("body" if name == "body" else f"head.{name} AS {name}" for name in COLUMNS)
    listed = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
    lines = (
        f"read_csv([{listed}], header = false, auto_detect = false, delim = '\x01', quote = '', escape = '',"
        f" columns = {{line: 'VARCHAR'}}, max_line_size = {_LONGEST_LINE},"
        f" buffer_size = {_LONGEST_LINE + 1}, parallel = false)"
    )
    torn = ", ".join(f"'{digest}'" for digest in map(_torn_end, paths) if digest)
    whole = f"md5(line) NOT IN ({torn})" if torn else "true"
    at = f"strpos(line, '{_BODY}')"
    split = (
        f"SELECT left(line, {at} - 1) || '}}' AS head,"
        f" substr(line, {at} + {len(_BODY)}, length(line) - {at} - {len(_BODY)}) AS body"
        f" FROM {lines} WHERE {at} > 1 AND right(line, 2) = '}}}}' AND {whole}"
    )
    valid = "CASE WHEN json_valid(head) THEN head ELSE '{}' END"  # a filter would come too late
    return (
        f"(SELECT {names} FROM (SELECT json_transform({valid}, '{{{shape}}}') AS head, body FROM ({split}))"
        " WHERE head.id IS NOT NULL)"
    )


def check_readable(path: Path) -> None:
    """Raises ResultsError if a line of the segment cannot be read: the segment is kept."""
    lines = readable = 0
    with path.open("rb") as stream:
        for line in stream:
            if not line.endswith(b"\n"):
                break
            lines += 1
            readable += _is_record(line)
    if readable != lines:
        raise ResultsError(
            f"{path}: {readable} of {lines} records can be read; the segment is kept as it is",
            remedy="repair or remove the lines that are not JSON",
        )


def _is_record(line: bytes) -> bool:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("id") is not None and isinstance(found.get("body"), dict)


def _torn_end(path: Path) -> str:
    """A digest of what follows the last whole line; "" for nothing. A receiver may be writing it right now."""
    with path.open("rb") as stream:
        end = stream.seek(0, os.SEEK_END)
        start = end
        kept = b""
        while start and b"\n" not in kept:
            start = max(0, start - 65_536)
            stream.seek(start)
            kept = stream.read(end - start)
    torn = kept[kept.rfind(b"\n") + 1 :]
    return md5(torn, usedforsecurity=False).hexdigest() if torn else ""


# A file beside the part, of entries of 24 bytes in ascending order: 8 bytes of a digest of the name that is looked up
# (a session id, or a trace id), then the 16 bytes of a trace id. Two names with one digest give a trace too many, which
# the query that follows leaves out. A part is written after its index, and rewritten with less than it held; so an
# index may name traces that its part does not hold, and never lacks one.

_KEY: Final = 8
_ENTRY: Final = 24


class PartIndex:
    """An index that is open for reading; a context manager."""

    def __init__(self, path: Path) -> None:
        """Raises FileNotFoundError if there is none, ValueError if the file is not an index."""
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            if size % _ENTRY:
                raise ValueError(f"{path}: {size} bytes are not a whole number of entries")
            self._data: mmap.mmap | bytes = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if size else b""

    def __len__(self) -> int:
        return len(self._data) // _ENTRY

    def __getitem__(self, number: int) -> bytes:
        return self._data[number * _ENTRY : (number + 1) * _ENTRY]

    def traces_naming(self, session: str) -> Iterator[str]:
        """Ids of the traces that name a session."""
        return self._entries_of(_session_key(session))

    def holds(self, trace_id: str) -> bool:
        """Whether the part may hold records of a trace."""
        return trace_id in self._entries_of(_trace_key(trace_id))

    def _entries_of(self, key: bytes) -> Iterator[str]:
        for number in range(bisect_left(self, key), len(self)):
            entry = self[number]
            if entry[:_KEY] != key:
                return
            yield entry[_KEY:].hex()

    def __enter__(self) -> "PartIndex":
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self._data, mmap.mmap):
            self._data.close()


def index_path(part: Path) -> Path:
    """The path of the index of a part."""
    return part.with_suffix(".index")


def open_index(part: Path) -> PartIndex | None:
    """The index of a part; None if it has none that can be read, so that the part itself is read."""
    try:
        return PartIndex(index_path(part))
    except (FileNotFoundError, ValueError):
        return None


def entries_of(named: Iterable[tuple[str, str]]) -> list[bytes]:
    """The entries for pairs of a session id ("" for none) and a trace id."""
    found = set[bytes]()
    for session, trace_id in named:
        value = bytes.fromhex(trace_id)
        found.add(_trace_key(trace_id) + value)
        if session:
            found.add(_session_key(session) + value)
    return sorted(found)


def write_index(part: Path, entries: Iterable[bytes]) -> None:
    """Writes the index of a part whole, and flushes it."""
    write_atomically(index_path(part), b"".join(entries))
    index_path(part).chmod(0o600)


def _session_key(session: str) -> bytes:
    return blake2b(b"s" + session.encode("utf-8", "replace"), digest_size=_KEY).digest()


def _trace_key(trace_id: str) -> bytes:
    return blake2b(b"t" + trace_id.encode(), digest_size=_KEY).digest()


# Deletion of sessions and users: first hidden from every reader, then removed from the files.
#
# A deletion is a small file of digests, so that what is deleted does not live on in the list of what was deleted. It
# covers what was received up to its time; the same session may begin again afterwards.

_DIGITS: Final = 40
_APPLIED: Final = ".applied.json"


def trace_digest(source: str, trace_id: str) -> str:
    """The digest that a deletion names a trace by."""
    return hashlib.sha256(f"{source}|{trace_id}".encode()).hexdigest()[:_DIGITS]


def write_deletion(folder: Path, last_segment: int, traces: Iterable[tuple[str, str]]) -> Path:
    """Hides the records of traces, given as (source, trace id), that were received until now.

    `last_segment`: the newest of the journal; when all up to it are parts, no file can hold the records any more.
    """
    now_ns = time.time_ns()
    digests = sorted({trace_digest(*trace) for trace in traces})
    path = folder / f"{now_ns}.json"
    write_atomically(
        path, (json.dumps({"until_ns": now_ns, "segment": last_segment, "traces": digests}) + "\n").encode()
    )
    return path


def deletions(folder: Path) -> list[tuple[int, list[str]]]:
    """(received until, digests) of every deletion that the files may still contain."""
    found: list[tuple[int, list[str]]] = []
    for path in sorted(folder.glob("*.json")):
        try:
            document = json.loads(path.read_bytes())
            found.append(
                (int(document["until_ns"]), [digest for digest in map(str, document["traces"]) if digest.isalnum()])
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ResultsError(f"{path}: is not a list of deletions: {error}") from None
    return found


def forget_deletions(folder: Path, oldest_segment: int | None) -> None:
    """Drops the deletions that were applied to all parts, and whose segments are parts; None: the journal is empty."""
    for path in folder.glob(f"*{_APPLIED}"):
        segment = json.loads(path.read_bytes()).get("segment", 0)
        if oldest_segment is None or oldest_segment > segment:
            path.unlink(missing_ok=True)


def pending_deletions(folder: Path) -> list[Path]:
    """Those that were not applied to the existing parts yet."""
    return sorted(path for path in folder.glob("*.json") if not path.name.endswith(_APPLIED))


def mark_applied(paths: Iterable[Path]) -> None:
    """States that every part was written without what these deleted."""
    for path in paths:
        path.replace(path.with_name(path.name.removesuffix(".json") + _APPLIED))


def deletion_filter(folder: Path) -> str:
    """An SQL condition that holds for what is not deleted."""
    conditions = []
    for until_ns, digests in deletions(folder):
        listed = ", ".join(f"'{digest}'" for digest in digests)
        if listed:
            name = f"left(sha256(source || '|' || trace_id), {_DIGITS})"
            conditions.append(f"NOT (received_ns <= {until_ns} AND {name} IN ({listed}))")
    return " AND ".join(conditions) or "true"
