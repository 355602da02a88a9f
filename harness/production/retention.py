"""What is removed from a store: deleted sessions, and those that received nothing for longer than is kept."""

import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from harness.production.engine import delete_traces
from harness.production.score_store import ScoreStore, forget_waiting, remove_score
from harness.production.scores import SessionScore
from harness.production.session import session_id
from harness.production.storage import StoreLayout, readable_errors, transaction, vacuum

_DAY_NS: Final = 86_400 * 10**9
_AT_ONCE: Final = 200
"""Sessions or scores that are removed by one transaction: others write between them."""
_GOES_ON: Final = "EXISTS (SELECT 1 FROM traces AS other WHERE other.key = traces.key AND other.received_last_ns >= ?1)"


def forget_sessions(layout: StoreLayout, scores: ScoreStore, keys: Iterable[str]) -> None:
    """Removes the scores of sessions, given by their keys, what a judge was asked about them, and what waits."""
    gone = {*keys}
    _forget_files(layout, gone, lambda one: one.session in gone)
    scores.forget(gone)
    with readable_errors(layout.file):
        vacuum(scores.connection)


def forget_older(layout: StoreLayout, days: float) -> int:
    """Removes sessions that received nothing for so many days, with their scores; how many traces they had.

    The counts of days stay, for charts.
    """
    limit_ns = time.time_ns() - int(days * _DAY_NS)
    connection = layout.open()
    try:
        with readable_errors(layout.file):
            removed = 0
            while traces := _old_traces(connection, limit_ns):
                with transaction(connection):
                    delete_traces(connection, traces)
                removed += len(traces)
            scored = _forget_scores(layout, connection, limit_ns)
            if removed or scored:
                vacuum(connection)
            return removed
    finally:
        connection.close()


def _old_traces(connection: sqlite3.Connection, limit_ns: int) -> list[tuple[str, str]]:
    query = f"SELECT source, trace_id FROM traces WHERE received_last_ns < ?1 AND NOT {_GOES_ON} LIMIT {_AT_ONCE}"
    return connection.execute(query, [limit_ns]).fetchall()


def _forget_scores(layout: StoreLayout, connection: sqlite3.Connection, limit_ns: int) -> int:
    """Scores last: they tell after a crash which sessions are to be removed. One of a session of which records are left
    stays, because that session would be scored again.
    """
    rows = connection.execute(
        "SELECT number, session FROM scores WHERE received_ns < ?1"
        " AND NOT EXISTS (SELECT 1 FROM traces WHERE key = session)"
        " AND NOT EXISTS (SELECT 1 FROM scores AS newer WHERE newer.session = scores.session"
        " AND newer.received_ns >= ?1)",
        [limit_ns],
    ).fetchall()
    gone = {session for _, session in rows}
    if gone:
        _forget_files(layout, gone, lambda one: one.session in gone or one.received_ns < limit_ns, limit_ns)
    for start in range(0, len(rows), _AT_ONCE):
        with transaction(connection):
            for number, _ in rows[start : start + _AT_ONCE]:
                remove_score(connection, number)
    return len(rows)


def _forget_files(
    layout: StoreLayout, sessions: set[str], gone: Callable[[SessionScore], bool], damaged_before_ns: int | None = None
) -> None:
    for session in sessions:
        for recorded in layout.judge.glob(f"*/session-{session_id(session)}[.~]*"):
            recorded.unlink(missing_ok=True)
    for folder in _folders(layout.outbox):
        forget_waiting(folder, gone, damaged_before_ns)


def _folders(outbox: Path) -> list[Path]:
    return [path for path in outbox.glob("*") if path.is_dir() and not path.is_symlink()]
