"""The receiver's writer: what is acknowledged is on the disk.

One thread writes. Requests that arrive while it flushes are written by one transaction and share the next flush (group
commit). If a transaction fails, as on a full disk, nothing of it is kept and its requests are refused: the sender keeps
them and sends them again.
"""

import fcntl
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import IO, Final

from harness.errors import ResultsError
from harness.production.engine import add_records
from harness.production.record import StoredRecord
from harness.production.storage import StoreLayout, transaction

MAX_WAITING: Final = 64 << 20
"""Bytes that wait for the disk, from which on requests are answered with 429."""
_MOST_AT_ONCE: Final = 16 << 20
"""Bytes of one transaction, if there are several requests: other processes that write wait for its end."""


class StoreUnavailable(OSError):
    """The store could not be written; nothing of the request was kept."""


class StoreWriter:
    """Writes the records of one store. `close` it; a second one of the same store is refused."""

    def __init__(self, layout: StoreLayout, *, max_waiting: int = MAX_WAITING) -> None:
        """Raises ResultsError if another receiver writes this store."""
        self._max_waiting = max_waiting
        self._lock = _writer_lock(layout.folder)
        self._connection = layout.open()
        self._changed = threading.Condition()
        self._queue: list[tuple[Sequence[StoredRecord], int, Future[None]]] = []
        self.waiting_bytes = 0
        self._ended = False
        self._thread = threading.Thread(target=self._write_all, name="store", daemon=True)
        self._thread.start()

    @property
    def is_full(self) -> bool:
        """Whether so much waits for the disk that senders must wait too."""
        return self.waiting_bytes >= self._max_waiting

    def append(self, records: Sequence[StoredRecord], size: int) -> "Future[None]":
        """Done when the records, of about `size` bytes, are on the disk; StoreUnavailable if they are not."""
        done: Future[None] = Future()
        with self._changed:
            if self._ended:
                done.set_exception(StoreUnavailable("the receiver is ending"))
                return done
            self._queue.append((records, size, done))
            self.waiting_bytes += size
            self._changed.notify_all()
        return done

    def close(self) -> None:
        """Writes what waits; a second call does nothing."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()
        self._lock.close()

    def _write_all(self) -> None:
        with closing(self._connection) as connection:
            while taken := self._next():
                failure = _written(connection, [one for records, _, _ in taken for one in records])
                with self._changed:
                    self.waiting_bytes -= sum(size for _, size, _ in taken)
                for _, _, done in taken:
                    if failure is None:
                        done.set_result(None)
                    else:
                        done.set_exception(failure)

    def _next(self) -> list[tuple[Sequence[StoredRecord], int, "Future[None]"]]:
        """What is written together; nothing after the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._ended)
            count, size = 0, 0
            for _, more, _ in self._queue:
                if count and size + more > _MOST_AT_ONCE:
                    break
                count, size = count + 1, size + more
            taken, self._queue = self._queue[:count], self._queue[count:]
        return taken


def _written(connection: sqlite3.Connection, records: Sequence[StoredRecord]) -> StoreUnavailable | None:
    """Why the records could not be written."""
    try:
        with transaction(connection):
            add_records(connection, records)
    except sqlite3.Error as error:
        return StoreUnavailable(str(error))
    return None


def _writer_lock(folder: Path) -> IO[bytes]:
    lock = (folder / ".writer").open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise ResultsError(
            f"another receiver writes the store {folder}",
            remedy="stop it, or give this one another `store` in online.yaml",
        ) from None
    return lock
