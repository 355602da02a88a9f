"""The receiver's journal: what is acknowledged is on the disk.

One thread writes. Requests that arrive while it flushes are written together and share the next flush (group commit).
If a write fails, as on a full disk, the segment is cut back to its last good byte and the requests are refused: the
sender keeps them and sends them again.
"""

import fcntl
import os
import threading
import time
from concurrent.futures import Future
from io import FileIO
from pathlib import Path
from typing import IO, Final

from harness.disk import flush_folder
from harness.errors import ResultsError
from harness.production.storage import StoreLayout, part_ranges, segments

SEGMENT_BYTES: Final = 40 << 20
"""With the requests that are written together at its end, less than what compaction sorts in one piece."""
SEGMENT_AGE_S: Final = 30.0
_ROTATION_S: Final = 10.0
MAX_WAITING: Final = 64 << 20
"""Bytes that wait for the disk, from which on requests are answered with 429."""


class JournalUnavailable(OSError):
    """The journal could not be written; nothing of the request was kept."""


class StoreJournal:
    """The writer of one store's journal. `close` it; a second writer of the same store is refused."""

    def __init__(
        self, layout: StoreLayout, *, segment_bytes: int = SEGMENT_BYTES, max_waiting: int = MAX_WAITING
    ) -> None:
        """Raises ResultsError if another receiver writes this store."""
        self._layout = layout
        self._segment_bytes = segment_bytes
        self._max_waiting = max_waiting
        self._lock = _writer_lock(layout.folder)
        self._changed = threading.Condition()
        self._queue: list[tuple[bytes, Future[None]]] = []
        self.waiting_bytes = 0
        self._ended = False
        self._rotation_asked = False
        self._segment: FileIO | None = None
        self._good = 0
        self._opened_at = 0.0
        _cut_torn_ends(layout.journal)
        self._number = 1 + max(
            [number for number, _ in segments(layout.journal)] + [last for _, last, _ in part_ranges(layout.parts)],
            default=0,
        )
        self._thread = threading.Thread(target=self._write_all, name="journal", daemon=True)
        self._thread.start()

    @property
    def is_full(self) -> bool:
        """Whether so much waits for the disk that senders must wait too."""
        return self.waiting_bytes >= self._max_waiting

    def append(self, lines: bytes) -> "Future[None]":
        """Done when the lines are on the disk; JournalUnavailable if they could not be written."""
        done: Future[None] = Future()
        with self._changed:
            if self._ended:
                done.set_exception(JournalUnavailable("the receiver is ending"))
                return done
            self._queue.append((lines, done))
            self.waiting_bytes += len(lines)
            self._changed.notify_all()
        return done

    def end_segment(self) -> None:
        """Ends the current segment, so that it can be compacted; returns when that is done."""
        with self._changed:
            number = self._number
            self._rotation_asked = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._segment is None or self._number != number, timeout=_ROTATION_S)

    def ended_segments(self) -> list[tuple[int, Path]]:
        """The segments that are not written any more."""
        with self._changed:
            current = self._number if self._segment is not None else None
        return [(number, path) for number, path in segments(self._layout.journal) if number != current]

    def close(self) -> None:
        """Writes what waits; a second call does nothing."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()
        self._end_segment()
        self._lock.close()

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._ended or self._rotation_asked, timeout=1.0)
                taken, self._queue = self._queue, []
                ended, asked, self._rotation_asked = self._ended, self._rotation_asked, False
            if taken:
                self._write(taken)
            self._rotate(asked)
            if ended and not self._queue:
                return

    def _write(self, taken: "list[tuple[bytes, Future[None]]]") -> None:
        size = sum(len(lines) for lines, _ in taken)
        try:
            handle = self._open_segment().fileno()
            left = memoryview(b"".join(lines for lines, _ in taken))
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
            self._good += size
            failure = None
        except OSError as error:
            failure = JournalUnavailable(error.errno, error.strerror)
            self._cut_back()
        with self._changed:
            self.waiting_bytes -= size
        for _, done in taken:
            if failure is None:
                done.set_result(None)
            else:
                done.set_exception(failure)

    def _open_segment(self) -> FileIO:
        if self._segment is None:
            path = self._layout.journal / f"{self._number:012}.jsonl"
            self._segment = path.open("xb", buffering=0)
            path.chmod(0o600)
            flush_folder(path.parent)
            self._good, self._opened_at = 0, time.monotonic()
        return self._segment

    def _cut_back(self) -> None:
        """Removes what a failed write left, and goes on behind the last good byte: no file for each refused request."""
        if self._segment is None:
            return
        try:
            os.ftruncate(self._segment.fileno(), self._good)
            os.fsync(self._segment.fileno())
            self._segment.seek(self._good)
        except OSError:
            self._end_segment()  # its torn end is cut when the store is opened again; a reader passes over it

    def _rotate(self, asked: bool) -> None:
        if self._segment is None or not self._good:
            return
        old = time.monotonic() - self._opened_at > SEGMENT_AGE_S
        if asked or old or self._good >= self._segment_bytes:
            self._end_segment()

    def _end_segment(self) -> None:
        with self._changed:
            segment, self._segment = self._segment, None
            self._number += segment is not None
            self._changed.notify_all()
        if segment is not None:
            segment.close()


def _writer_lock(folder: Path) -> IO[bytes]:
    lock = (folder / ".writer").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise ResultsError(
            f"another receiver writes the store {folder}", remedy="stop it, or give this one another --store"
        ) from None
    return lock


def _cut_torn_ends(folder: Path) -> None:
    """Removes the half line that a killed receiver left at a segment's end: it was never acknowledged."""
    for _, path in segments(folder):
        with path.open("r+b") as stream:
            size = end = stream.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - 65_536)
                stream.seek(start)
                found = stream.read(end - start).rfind(b"\n")
                if found >= 0:
                    end = start + found + 1
                    break
                end = start
            if end < size:
                stream.truncate(end)
                os.fsync(stream.fileno())
