"""The session store: what other parts of the harness read of production.

    store = SessionStore.open(project / "online")
    for row in store.sessions(since_ns=..., release="2.4"):      # without reading spans
        session = store.session(row.key)                          # spans, trajectory, trial, tools
    for score in store.scores(since_ns=..., release="2.4"): ...   # latest score of each session
    for score in store.failures(since_ns=...): ...                # of these, where something failed

A store is opened for reading beside a running receiver; each object belongs to one thread. A seam lies below it
(`SpanEngine`): the embedded engine reads the store's own files.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.errors import UsageError
from harness.online.compaction import Compactor
from harness.online.deletion import write_deletion
from harness.online.engine import EmbeddedEngine, SpanEngine
from harness.online.layout import StoreLayout, segments
from harness.online.record import StoredRecord
from harness.online.retention import forget_sessions
from harness.online.score_store import ScoreStore
from harness.online.scores import ScoreKind, SessionScore, latest
from harness.online.session import Session, SessionRow, sessions_from
from harness.trace import Trajectory

DEFAULT_FOLDER = "online"
"""In the project."""


class SessionStore:
    """Sessions and their scores."""

    def __init__(self, layout: StoreLayout, engine: SpanEngine) -> None:
        self.layout = layout
        self._engine = engine
        self.score_store = ScoreStore(layout.scores)

    @classmethod
    def open(cls, folder: Path) -> "SessionStore":
        """Raises ResultsError where there is no store or a newer harness wrote it, UsageError without DuckDB."""
        layout = StoreLayout(folder)
        layout.open()
        return cls(layout, EmbeddedEngine(layout))

    def sessions(
        self,
        *,
        since_ns: int = 0,
        until_ns: int | None = None,
        release: str | None = None,
        user_id: str | None = None,
        complete_after_s: float = 0.0,
    ) -> list[SessionRow]:
        """Sessions of which a record was received since then and none after `until_ns`, oldest first.

        `complete_after_s`: only those that received nothing for so long.
        """
        now_ns = time.time_ns()
        found = [
            row
            for row in self._all(since_ns)
            if (until_ns is None or row.received_last_ns < until_ns)
            and (release is None or row.release == release)
            and (user_id is None or user_id in row.users)
            and row.is_complete(now_ns, complete_after_s)
        ]
        return sorted(found, key=lambda row: (row.received_last_ns, row.key))

    def session(self, key: str) -> Session:
        """One session with its records, by its key, or by its session id where only one sender has one of that name.

        Raises UsageError where there is none or several.
        """
        rows = [row for row in self._named(key) if key in (row.key, row.key.partition(":")[2])]
        exact = [row for row in rows if row.key == key]
        rows = exact or rows
        if len(rows) != 1:
            several = f"; its keys are {', '.join(row.key for row in rows)}" if rows else ""
            raise UsageError(f"{len(rows)} sessions are called {key!r}{several}", remedy="harness online sessions")
        return self.loaded(rows[0])

    def loaded(self, row: SessionRow) -> Session:
        """The session of a row."""
        return Session(row, self._engine.records([(row.source, trace_id) for trace_id in row.trace_ids]))

    def load_many(self, rows: Sequence[SessionRow]) -> Iterator[Session]:
        """The sessions of many rows, by one query for all: for some hundred at a time."""
        wanted = [(row.source, trace_id) for row in rows for trace_id in row.trace_ids]
        by_trace: dict[tuple[str, str], list[StoredRecord]] = {}
        for record in self._engine.records(wanted):
            by_trace.setdefault((record.source, record.trace_id), []).append(record)
        for row in rows:
            found = [one for trace_id in row.trace_ids for one in by_trace.get((row.source, trace_id), ())]
            yield Session(row, sorted(found, key=lambda one: (one.start_ns, one.end_ns, one.id)))

    def trajectory(self, key: str) -> Trajectory | None:
        """What a session did; None where its spans tell of no agent, model or tool. Raises UsageError as `session`."""
        return self.session(key).trajectory

    def scores(
        self,
        *,
        since_ns: int = 0,
        release: str | None = None,
        suite: str | None = None,
        kind: ScoreKind | None = None,
    ) -> list[SessionScore]:
        """The latest score of each session, kind and suite, of sessions received since then."""
        found = latest(self.score_store.read(since_ns=since_ns)).values()
        return [
            one
            for one in found
            if not one.skipped
            and (release is None or one.release == release)
            and (suite is None or one.suite == suite)
            and (kind is None or one.kind == kind)
        ]

    def failures(
        self, *, since_ns: int = 0, release: str | None = None, suite: str | None = None
    ) -> Iterator[SessionScore]:
        """The scores in which a check or criterion failed, or a failure mode was found."""
        return (one for one in self.scores(since_ns=since_ns, release=release, suite=suite) if one.failed)

    def delete(self, *, session: str | None = None, user_id: str | None = None) -> int:
        """Deletes a session, or all sessions in which a user took part, with their scores and what waits to be
        sent; how many sessions it was.

        Readers do not see them any more when this returns. Parts are rewritten at once; what a running receiver still
        has in its journal is left out when that becomes a part. Raises UsageError where a session is not known.
        """
        if session is not None:
            rows: Sequence[SessionRow] = [self.session(session).row]
        else:
            rows = [row for row in self._all(0) if user_id is not None and user_id in row.users]
        if not rows:
            return 0
        last = max((number for number, _ in segments(self.layout.journal)), default=0)
        write_deletion(self.layout.deleted, last, [(row.source, trace) for row in rows for trace in row.trace_ids])
        forget_sessions(self.layout, (row.key for row in rows))
        Compactor(self.layout).purge()
        return len(rows)

    def compact(self, *, retention_days: float | None = None) -> None:
        """Compacts everything; only where no receiver runs, which does it by itself."""
        compactor = Compactor(self.layout)
        compactor.compact(segments(self.layout.journal), retention_days=retention_days)
        compactor.purge()

    def _all(self, since_ns: int) -> list[SessionRow]:
        rows = sessions_from(self._engine.traces(received_since_ns=since_ns))
        if not since_ns:
            return rows
        named = [row.key.partition(":")[2] for row in rows if len(row.trace_ids) and ":trace:" not in row.key]
        if not named:
            return rows
        # a session that goes on after `since_ns` may have earlier traces too
        known = {row.key: row for row in rows}
        return list((known | {row.key: row for row in sessions_from(self._engine.traces(sessions=named))}).values())

    def _named(self, key: str) -> list[SessionRow]:
        names = [key, key.partition(":")[2]]
        rows = sessions_from(self._engine.traces(sessions=[name for name in names if name]))
        return rows or [row for row in self._all(0) if ":trace:" in row.key and key in row.key]
