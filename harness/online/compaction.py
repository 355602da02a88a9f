"""Journal segments become Parquet parts, small parts become larger ones, and old ones are dropped.

Every step writes a whole new file under a temporary name, flushes and renames it; only then what it replaces is
removed. A part's name says which segments it holds, so a reader after a crash at any moment sees each record exactly
once: a segment that a part covers is not read, and neither is a part within a larger one.
"""

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.disk import flush_folder
from harness.errors import ResultsError
from harness.online.deletion import deletion_filter, forget_deletions, mark_applied, pending_deletions
from harness.online.engine import connect, journal_lines, parquet
from harness.online.layout import StoreLayout, part_ranges, remove, segments, superseded
from harness.online.record import COLUMNS
from harness.online.retention import forget_older
from harness.process_identity import partial_name

_ROW_GROUP: Final = 2048
"""Rows; measured: a session of one million spans is found in 5 to 8 ms of processor time, in 30 with 8192."""
_MERGE_COUNT: Final = 8
_MERGE_BYTES: Final = 64 << 20
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
        with self._alone():
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
        with self._alone():
            pending = pending_deletions(self._layout.deleted)
            ranges = part_ranges(self._layout.parts) if pending else []
            for first, last, path in ranges:
                self._write(parquet([path]), first, last)
            mark_applied(pending)
            self._forget()
        return len(ranges)

    def _forget(self) -> None:
        numbers = [number for number, _ in segments(self._layout.journal)]
        forget_deletions(self._layout.deleted, min(numbers, default=None))

    @contextmanager
    def _alone(self) -> Iterator[None]:
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
        partial = [path for path in self._layout.parts.glob(".*.parquet-*") if path.stat().st_mtime < old]
        remove([*superseded(self._layout.parts), *done, *partial])

    def _segment_to_part(self, number: int, path: Path) -> bool:
        if not path.is_file():
            return False
        if path.stat().st_size:
            self._check_readable(path)
            self._write(journal_lines([path]), number, number)
        remove([path])
        return True

    def _check_readable(self, path: Path) -> None:
        """Raises ResultsError where a line of the segment cannot be read: the segment is kept."""
        with path.open("rb") as stream:
            lines = sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
        found = connect().execute(f"SELECT count(*) FROM {journal_lines([path])} WHERE id IS NOT NULL").fetchone()
        if found is None or found[0] != lines:
            raise ResultsError(
                f"{path}: {found and found[0]} of {lines} records can be read; the segment is kept as it is"
            )

    def _merge_small(self) -> int:
        """Neighbours of under 64 MB, eight or more of them, become one part."""
        run: list[tuple[int, int, Path]] = []
        merged = 0
        for one in [*part_ranges(self._layout.parts), None]:
            if one is not None and one[2].stat().st_size < _MERGE_BYTES and len(run) < 4 * _MERGE_COUNT:
                run.append(one)
                continue
            merged += self._merge(run)
            run = []
        return merged

    def _merge(self, run: Sequence[tuple[int, int, Path]]) -> int:
        if len(run) < _MERGE_COUNT:
            return 0
        first, last = run[0][0], run[-1][1]
        if any(first <= number <= last for number, _ in segments(self._layout.journal)):
            return 0  # the merged part would claim to hold that segment
        paths = [path for *_, path in run]
        self._write(parquet(paths), first, last)
        remove(paths)
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
        remove(old)
        return len(old)

    def _forget_scores(self, days: float, dropped: int) -> None:
        """Reads every score, and so is done where records were dropped, and once an hour."""
        now_s = time.monotonic()
        if dropped or self._forgot_s is None or now_s - self._forgot_s > _FORGET_EVERY_S:
            forget_older(self._layout, _limit_ns(days))
            self._forgot_s = now_s

    def _write(self, source: str, first: int, last: int) -> None:
        """Writes a part of `source`: each record once, without deleted ones, sorted by trace."""
        target = self._layout.parts / f"{first:012}-{last:012}.parquet"
        temporary = target.with_name(partial_name(target.name))
        names = ", ".join(COLUMNS)
        casts = ", ".join(f"{name}::{kind} AS {name}" for name, kind in COLUMNS.items())
        kept = deletion_filter(self._layout.deleted)
        query = (
            f"SELECT {names} FROM (SELECT {casts} FROM {source}) WHERE {kept}"
            " QUALIFY row_number() OVER (PARTITION BY id ORDER BY received_ns) = 1 ORDER BY trace_id, start_ns"
        )
        options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_ROW_GROUP}"
        try:
            escaped = str(temporary).replace("'", "''")
            with connect() as connection:
                connection.execute("SET preserve_insertion_order = true")
                connection.execute(f"COPY ({query}) TO '{escaped}' ({options})")
            temporary.chmod(0o600)
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
            temporary.replace(target)
            flush_folder(target.parent)
        except Exception as error:
            temporary.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise
            raise ResultsError(f"{target}: cannot be written: {str(error)[:300]}") from error


def _limit_ns(days: float) -> int:
    """What was received before is older than so many days."""
    return time.time_ns() - int(days * _DAY_NS)
