"""Journal segments become Parquet parts, small parts become larger ones, and old ones are dropped with their
scores.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.disk import flush_folder
from harness.errors import ResultsError
from harness.processes import partial_name
from harness.production.days import keep_history
from harness.production.engine import connect, parquet
from harness.production.record import COLUMNS
from harness.production.score_store import ScoreStore, forget_waiting
from harness.production.scores import SessionScore
from harness.production.session import session_id
from harness.production.storage import (
    StoreLayout,
    check_readable,
    deletion_filter,
    entries_of,
    forget_deletions,
    index_path,
    journal_lines,
    mark_applied,
    part_ranges,
    pending_deletions,
    remove,
    segments,
    superseded,
    write_index,
)

if TYPE_CHECKING:
    import duckdb


def forget_sessions(layout: StoreLayout, keys: Iterable[str]) -> None:
    """Removes everything about sessions, given by their keys."""
    gone = {*keys}
    _forget(layout, gone, lambda one: one.session in gone)


def forget_older(layout: StoreLayout, limit_ns: int) -> None:
    """Removes what is kept of sessions that received nothing since `limit_ns` and have no record in the store.

    A session of which records are left would be scored again. Counts of days stay, for charts: see
    `harness.production.days`.
    """
    oldest_ns = _oldest_record_ns(layout)
    before_ns = limit_ns if oldest_ns is None else min(limit_ns, oldest_ns)
    scores = ScoreStore(layout.scores)
    keep_history(scores, layout.watch, before_ns)
    last_ns: dict[str, int] = {}
    for one in scores.read():
        last_ns[one.session] = max(last_ns.get(one.session, 0), one.received_ns)
    gone = {session for session, received_ns in last_ns.items() if received_ns < before_ns}
    _forget(layout, gone, lambda one: one.session in gone or one.received_ns < before_ns, limit_ns)


def _forget(
    layout: StoreLayout, sessions: set[str], gone: Callable[[SessionScore], bool], damaged_before_ns: int | None = None
) -> None:
    """Scores last: they tell after a crash which sessions are to be removed."""
    for session in sessions:
        for recorded in layout.judge.glob(f"*/session-{session_id(session)}[.~]*"):
            recorded.unlink(missing_ok=True)
    for folder in _folders(layout.outbox):
        forget_waiting(folder, gone, damaged_before_ns)
    ScoreStore(layout.scores).remove(gone)


def _folders(outbox: Path) -> list[Path]:
    return [path for path in outbox.glob("*") if path.is_dir() and not path.is_symlink()]


def _oldest_record_ns(layout: StoreLayout) -> int | None:
    """When the oldest record was received that is still in a file; None: there is none."""
    sources = [parquet([path]) for _, _, path in part_ranges(layout.parts)]
    sources += [journal_lines([path]) for _, path in segments(layout.journal) if path.stat().st_size]
    connection = connect()
    found = [connection.execute(f"SELECT min(received_ns) FROM {source}").fetchone() for source in sources]
    return min((int(row[0]) for row in found if row is not None and row[0] is not None), default=None)


# Every step writes a whole new file under a temporary name, flushes and renames it; only then what it replaces is
# removed. A part's name says which segments it holds, so a reader after a crash at any moment sees each record exactly
# once: a segment that a part covers is not read, and neither is a part within a larger one.

_ROW_GROUP: Final = 2048
"""Rows; measured: a session of one million spans is found in 5 to 8 ms of processor time, in 30 with 8192."""
_SORTED_BYTES: Final = 48 << 20
"""Of records' bodies: sorting takes several times as much of the engine's memory."""
_ALL_TRACES: Final = ("", "g")
"""Before and after every id in hexadecimal digits."""
_MERGE_COUNT: Final = 8
_MERGE_BYTES: Final = 64 << 20
"""Of a part at most. Measured: a session is found in 12 ms of processor time in parts of 14 MB, in 35 in one of 280."""
_DAY_NS: Final = 86_400 * 10**9
_FORGET_EVERY_S: Final = 3600


@dataclass(frozen=True, kw_only=True)
class Compacted:
    """What one round did: numbers of files."""

    segments: int = 0
    merged: int = 0
    dropped: int = 0


class Compactor:
    """Maintains the files of one store; rounds of several processes wait for each other."""

    def __init__(self, layout: StoreLayout) -> None:
        self._layout = layout
        self._forgot_s: float | None = None

    def compact(self, ended: Sequence[tuple[int, Path]], *, retention_days: float | None = None) -> Compacted:
        """One round over the segments that are not written any more. Raises ResultsError, OSError (a full disk)."""
        with self.alone():
            self._clear_leftovers()
            done = [number for number, path in ended if self._segment_to_part(number, path)]
            merged = self._merge_small()
            dropped = self._drop_old(retention_days) if retention_days is not None else 0
            self._forget()
        if retention_days is not None:
            self._forget_scores(retention_days, dropped)
        return Compacted(segments=len(done), merged=merged, dropped=dropped)

    def purge(self) -> int:
        """Rewrites all parts without what was deleted since the last purge; the number of rewritten parts."""
        with self.alone():
            pending = pending_deletions(self._layout.deleted)
            ranges = part_ranges(self._layout.parts) if pending else []
            for first, last, path in ranges:
                self._write(parquet([path]), self._part_path(first, last))
            mark_applied(pending)
            self._forget()
        return len(ranges)

    def _forget(self) -> None:
        numbers = [number for number, _ in segments(self._layout.journal)]
        forget_deletions(self._layout.deleted, min(numbers, default=None))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Held while files of the store are replaced or removed."""
        with (self._layout.folder / ".compacting").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _clear_leftovers(self) -> None:
        """What a killed round left: replaced parts, segments that a part covers, temporary files."""
        covered = [(first, last) for first, last, _ in part_ranges(self._layout.parts)]
        done = [
            path
            for number, path in segments(self._layout.journal)
            if any(first <= number <= last for first, last in covered)
        ]
        old = time.time() - 3600
        partial = [path for path in self._layout.parts.glob(".*-*") if path.stat().st_mtime < old]
        self._remove_parts(superseded(self._layout.parts))
        alone = [
            path
            for path in self._layout.parts.glob("*.index")
            if path.stat().st_mtime < old and not path.with_suffix(".parquet").is_file()
        ]
        remove([*alone, *done, *partial])

    def _segment_to_part(self, number: int, path: Path) -> bool:
        if not path.is_file():
            return False
        if path.stat().st_size:
            check_readable(path)
            self._write(journal_lines([path]), self._part_path(number, number), most_bytes=path.stat().st_size)
        remove([path])
        return True

    def _merge_small(self) -> int:
        """Neighbours that have under 64 MB together, eight or more of them, become one part."""
        runs: list[list[tuple[int, int, Path]]] = [[]]
        total = 0
        for one in part_ranges(self._layout.parts):
            size = one[2].stat().st_size
            if total + size >= _MERGE_BYTES or len(runs[-1]) >= 4 * _MERGE_COUNT:
                runs.append([])
                total = 0
            runs[-1].append(one)
            total += size
        return sum(map(self._merge, runs))

    def _merge(self, run: Sequence[tuple[int, int, Path]]) -> int:
        if len(run) < _MERGE_COUNT:
            return 0
        first, last = run[0][0], run[-1][1]
        if any(first <= number <= last for number, _ in segments(self._layout.journal)):
            return 0  # the merged part would claim to hold that segment
        paths = [path for *_, path in run]
        self._write(parquet(paths), self._part_path(first, last))
        self._remove_parts(paths)
        return len(run)

    def _drop_old(self, days: float) -> int:
        """Parts whose newest record is older than that, and not the rows of newer ones."""
        limit_ns = _limit_ns(days)
        connection = connect()
        old = []
        for _, _, path in part_ranges(self._layout.parts):
            found = connection.execute(f"SELECT max(received_ns) FROM {parquet([path])}").fetchone()
            if found is not None and found[0] is not None and found[0] < limit_ns:
                old.append(path)
        self._remove_parts(old)
        return len(old)

    def _forget_scores(self, days: float, dropped: int) -> None:
        """Reads every score, and so is done if records were dropped, and once an hour."""
        now_s = time.monotonic()
        if dropped or self._forgot_s is None or now_s - self._forgot_s > _FORGET_EVERY_S:
            forget_older(self._layout, _limit_ns(days))
            self._forgot_s = now_s

    def _part_path(self, first: int, last: int) -> Path:
        return self._layout.parts / f"{first:012}-{last:012}.parquet"

    def _remove_parts(self, parts: Sequence[Path]) -> None:
        remove(list(parts))
        remove([index_path(part) for part in parts])

    def _index(self, part: Path, source: str) -> None:
        """Writes the index of a part that holds `source`."""
        with connect() as connection:
            rows = connection.execute(f"SELECT DISTINCT session, trace_id FROM {source}").fetchall()
        write_index(part, entries_of(rows))

    def _write(self, source: str, target: Path, *, most_bytes: int = _SORTED_BYTES + 1) -> None:
        """Writes a part of `source`: each record once, without deleted ones, sorted by trace; before it its index.

        `most_bytes`: what the bodies have at most, if that is known.
        """
        temporary = target.with_name(partial_name(target.name))
        pieces = list[Path]()
        try:
            with connect() as connection:
                connection.execute("SET preserve_insertion_order = true")
                ranges = [_ALL_TRACES] if most_bytes <= _SORTED_BYTES else _trace_ranges(connection, source)
                for number, (first, last) in enumerate(ranges):
                    pieces.append(target.with_name(partial_name(f"{target.stem}-{number}.parquet")))
                    _copy(connection, self._sorted(source, first, last), pieces[-1])
                if len(pieces) > 1:
                    _copy(connection, f"SELECT * FROM {parquet(pieces)}", temporary)
                else:
                    pieces.pop().replace(temporary)
            temporary.chmod(0o600)
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
            self._index(target, parquet([temporary]))
            temporary.replace(target)
            flush_folder(target.parent)
        except Exception as error:
            temporary.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise
            raise ResultsError(f"{target}: cannot be written: {str(error)[:300]}") from error
        finally:
            for piece in pieces:
                piece.unlink(missing_ok=True)

    def _sorted(self, source: str, first: str, last: str) -> str:
        names = ", ".join(COLUMNS)
        casts = ", ".join(f"{name}::{kind} AS {name}" for name, kind in COLUMNS.items())
        kept = deletion_filter(self._layout.deleted)
        first, last = first.replace("'", "''"), last.replace("'", "''")
        return (
            f"SELECT {names} FROM (SELECT {casts} FROM {source} WHERE trace_id BETWEEN '{first}' AND '{last}')"
            f" WHERE {kept} QUALIFY row_number() OVER (PARTITION BY id ORDER BY received_ns) = 1"
            " ORDER BY trace_id, start_ns"
        )


def _copy(connection: "duckdb.DuckDBPyConnection", query: str, target: Path) -> None:
    escaped = str(target).replace("'", "''")
    options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP}"
    connection.execute(f"COPY ({query}) TO '{escaped}' ({options})")


def _trace_ranges(connection: "duckdb.DuckDBPyConnection", source: str) -> list[tuple[str, str]]:
    """First and last trace of the pieces that are sorted in memory one after the other; one at least."""
    rows = connection.execute(
        f"SELECT trace_id, sum(strlen(body)) FROM {source} GROUP BY trace_id ORDER BY trace_id"
    ).fetchall()
    found, first, before, size = list[tuple[str, str]](), "", "", 0
    for trace_id, more in rows:
        if size and size + more > _SORTED_BYTES:
            found.append((first, before))
            first, size = trace_id, 0
        first, before, size = first or trace_id, trace_id, size + more
    return [*found, (first, rows[-1][0] if rows else "")]


def _limit_ns(days: float) -> int:
    """What was received before is older than so many days."""
    return time.time_ns() - int(days * _DAY_NS)
