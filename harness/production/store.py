"""The session store: what other parts of the harness read of production.

    store = SessionStore.open(project / "online")
    for row in store.sessions(since_ns=..., release="2.4"):      # without reading spans
        session = store.session(row.key)                          # spans, trajectory, trial, tools
    for score in store.scores(since_ns=..., release="2.4"): ...   # latest score of each session
    for score in store.failures(since_ns=...): ...                # of these, if something failed

A store is opened beside a running receiver; each object belongs to one thread. Below it is an interface (`SpanEngine`):
the embedded engine reads the store's own file, the other one tables in ClickHouse.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Final, Protocol

from harness.errors import UsageError
from harness.production.clickhouse import TTL_REMEDY, ClickHouseEngine, Database, RecordSender
from harness.production.days import DayFacts
from harness.production.record import StoredRecord, TraceRow
from harness.production.score_store import ScoreStore, remove_score
from harness.production.scores import ScoreKind, SessionScore
from harness.production.session import Session, SessionRow, session_id, sessions_from
from harness.production.settings import ClickHouseSettings
from harness.production.storage import (
    EmbeddedEngine,
    StoreLayout,
    delete_traces,
    in_pieces,
    readable_errors,
    transaction,
    vacuum,
)

_BY_TRACE = "trace:"
"""In the keys of sessions that no span names."""


class SpanEngine(Protocol):
    """Reads what was stored. All methods raise ResultsError if the data cannot be reached."""

    def traces(self, *, received_since_ns: int = 0, sessions: Sequence[str] = ()) -> Iterable[TraceRow]:
        """Every trace that got a record since then, with all its records counted; `sessions`: only of these ids."""
        ...

    def records(self, traces: Sequence[tuple[str, str]]) -> list[StoredRecord]:
        """The records of traces, given as (source, trace id): each once, in the order of their start."""
        ...

    def delete(self, traces: Sequence[tuple[str, str]]) -> None:
        """Removes traces, given as (source, trace id), with their records."""
        ...


class SessionStore:
    """Sessions and their scores."""

    def __init__(self, layout: StoreLayout, clickhouse: Database | None) -> None:
        self.layout = layout
        connection = layout.open()
        self._embedded = EmbeddedEngine(layout, connection)
        self._engine: SpanEngine = self._embedded
        self._sender: RecordSender | None = None
        if clickhouse is not None:
            self._engine = ClickHouseEngine(clickhouse, layout.key)
            self._sender = RecordSender(layout, clickhouse)
        self.score_store = ScoreStore(layout.file, connection)

    @classmethod
    def open(cls, folder: Path, clickhouse: ClickHouseSettings | None = None) -> "SessionStore":
        """With records in the folder, or in ClickHouse; then the folder is made for what is kept beside them.

        Raises ResultsError if there is no store or a newer harness wrote it, UsageError if an extra is missing.
        """
        layout = StoreLayout(folder)
        if clickhouse is None:
            return cls(layout, None)
        database = Database(clickhouse)
        layout.create()
        return cls(layout, database)

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
            for row in self._all_rows(since_ns)
            if (until_ns is None or row.received_last_ns < until_ns)
            and (release is None or row.release == release)
            and (user_id is None or user_id in row.users)
            and row.is_complete(now_ns, complete_after_s)
        ]
        return sorted(found, key=lambda row: (row.received_last_ns, row.key))

    def session(self, key: str) -> Session:
        """One session with its records, by its key, or by its session id if only one sender has one of that name.

        Raises UsageError if there is none or several.
        """
        names = [name for name in (key, key.partition(":")[2]) if name]
        rows = _rows_named(key, sessions_from(self._engine.traces(sessions=names)))
        if not rows and _BY_TRACE in key:
            rows = _rows_named(key, self._all_rows(0))
        return self.loaded(_single_row(rows, key))

    def loaded(self, row: SessionRow) -> Session:
        """The session of a row."""
        return next(self.load_many([row]))

    def load_many(self, rows: Sequence[SessionRow]) -> Iterator[Session]:
        """The sessions of many rows, by one query for all: for some hundred at a time."""
        wanted = [(row.source, trace_id) for row in rows for trace_id in row.trace_ids]
        by_trace: dict[tuple[str, str], list[StoredRecord]] = {}
        for record in self._engine.records(wanted):
            by_trace.setdefault((record.source, record.trace_id), []).append(record)
        for row in rows:
            found = [one for trace_id in row.trace_ids for one in by_trace.get((row.source, trace_id), ())]
            yield Session(row, sorted(found, key=lambda one: (one.start_ns, one.end_ns, one.id)))

    def scores(
        self,
        *,
        since_ns: int = 0,
        release: str | None = None,
        suite: str | None = None,
        kind: ScoreKind | None = None,
    ) -> list[SessionScore]:
        """The latest score of each session, kind, suite and rubric, of sessions received since then."""
        found = self.score_store.read(since_ns=since_ns, latest=True, suite=suite, kind=kind)
        return [one for one in found if not one.skipped and (release is None or one.release == release)]

    def failures(
        self, *, since_ns: int = 0, release: str | None = None, suite: str | None = None
    ) -> Iterator[SessionScore]:
        """The scores in which a check or criterion failed, or a failure mode was found."""
        return (one for one in self.scores(since_ns=since_ns, release=release, suite=suite) if one.failed)

    def facts(self, suite: str) -> DayFacts:
        """The suite's scores added up by day."""
        return DayFacts(self.score_store, suite)

    def delete(self, *, session: str | None = None, user_id: str | None = None) -> int:
        """Deletes a session, or all sessions in which a user took part, with their scores and what waits to be
        sent; how many sessions it was.

        Nobody can read them any more when this returns. Raises UsageError if a session is not known.
        """
        if session is not None:
            rows: Sequence[SessionRow] = [self.session(session).row]
        else:
            rows = [row for row in self._all_rows(0) if user_id is not None and user_id in row.users]
        if not rows:
            return 0
        traces = [(row.source, trace) for row in rows for trace in row.trace_ids]
        with nullcontext() if self._sender is None else self._sender.alone():
            for engine in dict.fromkeys((self._engine, self._embedded)):  # with ClickHouse also what waits to be sent
                engine.delete(traces)
        keys = {row.key for row in rows}
        _forget_recordings(self.layout, keys)
        self.score_store.forget(keys)
        return len(rows)

    def maintain(self, *, retention_days: float | None = None) -> None:
        """Removes what is older, or sends records to ClickHouse; a running receiver does it by itself.

        Raises UsageError for a retention if records are stored in ClickHouse.
        """
        if self._sender is not None:
            if retention_days is not None:
                raise UsageError("--retention-days is for the store's own file", remedy=TTL_REMEDY)
            self._sender.send()
        elif retention_days is not None:
            forget_older(self.layout, retention_days)

    def _all_rows(self, since_ns: int) -> list[SessionRow]:
        rows = sessions_from(self._engine.traces(received_since_ns=since_ns))
        if not since_ns:
            return rows
        named = [row.key.partition(":")[2] for row in rows if len(row.trace_ids) and ":trace:" not in row.key]
        if not named:
            return rows
        # a session that goes on after `since_ns` may have earlier traces too
        known = {row.key: row for row in rows}
        return list((known | {row.key: row for row in sessions_from(self._engine.traces(sessions=named))}).values())


def _rows_named(key: str, rows: Iterable[SessionRow]) -> list[SessionRow]:
    """The session of this key, or those whose id it is."""
    found = [row for row in rows if key in (row.key, row.key.partition(":")[2])]
    return [row for row in found if row.key == key] or found


def _single_row(rows: Sequence[SessionRow], key: str) -> SessionRow:
    if len(rows) != 1:
        if not rows:
            raise UsageError(f"there is no session {key!r}", remedy="harness online sessions")
        keys = ", ".join(row.key for row in rows)
        raise UsageError(f"{len(rows)} sessions are called {key!r}", remedy=f"name one by its key: {keys}")
    return rows[0]


# What received nothing for longer than is kept.

_DAY_NS: Final = 86_400 * 10**9
_AT_ONCE: Final = 200
"""Sessions or scores that are removed by one transaction: others write between them."""
_GOES_ON: Final = "EXISTS (SELECT 1 FROM traces AS other WHERE other.key = traces.key AND other.received_last_ns >= ?1)"


def forget_older(layout: StoreLayout, days: float) -> int:
    """Removes sessions that received nothing for so many days, with their scores; how many traces they had.

    The counts of days stay, for charts.
    """
    limit_ns = time.time_ns() - int(days * _DAY_NS)
    with closing(layout.open()) as connection, readable_errors(layout.file):
        removed = 0
        while traces := _old_traces(connection, limit_ns):
            with transaction(connection):
                delete_traces(connection, traces)
            removed += len(traces)
        scored = _forget_scores(layout, connection, limit_ns)
        if removed or scored:
            vacuum(connection)
        return removed


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
    _forget_recordings(layout, {session for _, session in rows})
    for some in in_pieces(rows, _AT_ONCE):
        with transaction(connection):
            for number, _ in some:
                remove_score(connection, number)
    return len(rows)


def _forget_recordings(layout: StoreLayout, sessions: Iterable[str]) -> None:
    """Removes what a judge was asked about the sessions."""
    for session in sessions:
        for recorded in layout.judge.glob(f"*/session-{session_id(session)}[.~]*"):
            recorded.unlink(missing_ok=True)
