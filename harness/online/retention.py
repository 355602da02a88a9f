"""What is kept of a session beside its records, removed with them: scores, a judge's recordings, and what waits to be
sent.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from harness.online.score_store import ScoreStore
from harness.online.scores.outbox import forget_waiting
from harness.online.scores.scores import SessionScore
from harness.online.session import session_id
from harness.online.storage.engine import connect, parquet
from harness.online.storage.layout import StoreLayout, part_ranges, segments
from harness.online.storage.segment import journal_lines
from harness.online.trends.cells import keep_history


def forget_sessions(layout: StoreLayout, keys: Iterable[str]) -> None:
    """Removes everything about sessions, given by their keys."""
    gone = {*keys}
    _forget(layout, gone, lambda one: one.session in gone)


def forget_older(layout: StoreLayout, limit_ns: int) -> None:
    """Removes what is kept of sessions that received nothing since `limit_ns` and have no record in the store.

    A session of which records are left would be scored again. Counts of days stay, for charts: see
    `harness.online.trends.cells`.
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
