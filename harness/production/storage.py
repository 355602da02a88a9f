"""The file of a store: a SQLite database with its schema and records, and the folders beside it."""

import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from harness.disk import flush_folder, make_folder
from harness.errors import ResultsError
from harness.production.record import StoredRecord, TraceRow

# store.db             records as they were acknowledged, one row a trace, scores, counts of days, what waits to be sent
# judge/               what a judge was asked about sessions, and its answers
# watch/               incidents and their charts

T = TypeVar("T")

SCHEMA: Final = 4
"""Raised with every change that another reader would misread; SQLite's `user_version`."""
_WAIT_S: Final = 60.0
"""For another process that writes."""
_VACUUM_PAGES: Final = 2_000
_AT_ONCE: Final = 500
"""Names in one query."""
_NO_TIME: Final = "~"
"""Sorts behind every time: of a record that does not name what is looked for."""

_TABLES: Final = f"""
PRAGMA auto_vacuum = incremental;
PRAGMA journal_mode = wal;
BEGIN IMMEDIATE;
CREATE TABLE store (key TEXT NOT NULL) STRICT;
CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL, kind TEXT NOT NULL, received_ns INTEGER NOT NULL, source TEXT NOT NULL, trusted INTEGER NOT NULL,
    trace_id TEXT NOT NULL, span_id TEXT NOT NULL, parent_id TEXT NOT NULL, session TEXT NOT NULL,
    user_id TEXT NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL,
    release TEXT NOT NULL, model TEXT NOT NULL, feedback REAL, body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX records_of_trace ON records (trace_id, id);
CREATE TABLE traces (
    source TEXT NOT NULL, trusted INTEGER NOT NULL, trace_id TEXT NOT NULL, session TEXT NOT NULL,
    release TEXT NOT NULL, model TEXT NOT NULL, records INTEGER NOT NULL, errors INTEGER NOT NULL, feedback REAL,
    start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, received_first_ns INTEGER NOT NULL,
    received_last_ns INTEGER NOT NULL, digest TEXT NOT NULL,
    session_at TEXT NOT NULL, release_at TEXT NOT NULL, model_at TEXT NOT NULL,
    key TEXT NOT NULL AS (source || ':' || CASE session WHEN '' THEN 'trace:' || trace_id ELSE session END) STORED,
    PRIMARY KEY (trace_id, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX traces_of_session ON traces (session);
CREATE INDEX traces_by_key ON traces (key);
CREATE INDEX traces_by_time ON traces (received_last_ns);
CREATE TABLE users (
    trace_id TEXT NOT NULL, source TEXT NOT NULL, user_id TEXT NOT NULL, PRIMARY KEY (trace_id, source, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX traces_of_user ON users (user_id);
CREATE TRIGGER record_of_trace AFTER INSERT ON records BEGIN
    INSERT INTO traces VALUES (
        new.source, new.trusted, new.trace_id, new.session, new.release, new.model, 1, new.status = 'error',
        new.feedback, new.start_ns, new.end_ns, new.received_ns, new.received_ns, new.id,
        iif(new.session = '', '{_NO_TIME}', format('%020d', new.start_ns) || new.id),
        iif(new.release = '', '{_NO_TIME}', format('%020d', new.start_ns) || new.id),
        iif(new.model = '', '{_NO_TIME}', format('%020d', new.start_ns) || new.id)
    ) ON CONFLICT DO UPDATE SET
        trusted = min(trusted, excluded.trusted),
        session = iif(excluded.session_at < session_at, excluded.session, session),
        release = iif(excluded.release_at < release_at, excluded.release, release),
        model = iif(excluded.model_at < model_at, excluded.model, model),
        records = records + 1,
        errors = errors + excluded.errors,
        feedback = coalesce(min(feedback, excluded.feedback), feedback, excluded.feedback),
        start_ns = min(start_ns, excluded.start_ns),
        end_ns = max(end_ns, excluded.end_ns),
        received_first_ns = min(received_first_ns, excluded.received_first_ns),
        received_last_ns = max(received_last_ns, excluded.received_last_ns),
        digest = combined_ids(digest, excluded.digest),
        session_at = min(session_at, excluded.session_at),
        release_at = min(release_at, excluded.release_at),
        model_at = min(model_at, excluded.model_at);
    INSERT OR IGNORE INTO users SELECT new.trace_id, new.source, new.user_id WHERE new.user_id <> '';
END;
CREATE TABLE scores (
    number INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE, session TEXT NOT NULL,
    digest TEXT NOT NULL, suite TEXT NOT NULL, kind TEXT NOT NULL, rubric TEXT NOT NULL, latest INTEGER NOT NULL,
    skipped INTEGER NOT NULL, scored_at TEXT NOT NULL, received_ns INTEGER NOT NULL, day TEXT NOT NULL,
    release TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL, judge TEXT NOT NULL, scorer TEXT NOT NULL,
    category TEXT NOT NULL, steps INTEGER NOT NULL, weight REAL NOT NULL, in_base INTEGER NOT NULL
) STRICT;
CREATE TABLE waiting (
    target TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (target, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE documents (number INTEGER PRIMARY KEY, document TEXT NOT NULL) STRICT;
CREATE INDEX scores_of_session ON scores (session, suite, kind, rubric);
CREATE INDEX scores_of_day ON scores (suite, day, latest, kind, rubric);
CREATE INDEX scores_by_time ON scores (received_ns);
CREATE TABLE facts (
    score INTEGER NOT NULL, signal TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (score, signal)
) STRICT, WITHOUT ROWID;
CREATE TABLE cells (
    suite TEXT NOT NULL, day TEXT NOT NULL, signal TEXT NOT NULL, rubric TEXT NOT NULL, stratum TEXT NOT NULL,
    bad INTEGER NOT NULL, sessions INTEGER NOT NULL, PRIMARY KEY (suite, day, signal, rubric, stratum)
) STRICT, WITHOUT ROWID;
CREATE TABLE spending (day TEXT PRIMARY KEY, usd REAL NOT NULL, tokens INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE claims (identity TEXT PRIMARY KEY, owner TEXT NOT NULL) STRICT, WITHOUT ROWID;
PRAGMA user_version = {SCHEMA};
"""
# A trace's row is what its records say together: the session, release and model that its earliest record names, and a
# digest of the ids of all its records, whatever their order. A row of `waiting` is a score that was not sent there yet.


class StoreLayout:
    """Paths of one store; opens it, and makes it if there is none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "store.db"
        self.judge = folder / "judge"
        self.watch = folder / "watch"

    @property
    def exists(self) -> bool:
        return self.file.is_file()

    def open(self) -> sqlite3.Connection:
        """A connection, which one thread at a time uses. Every commit is flushed to the disk.

        Raises ResultsError if there is no store, if another version of the harness wrote it, or if it is damaged.
        """
        if not self.exists:
            raise ResultsError(
                f"{self.folder} holds no session store", remedy="start a receiver first: harness ingest serve"
            )
        with readable_errors(self.file):
            connection = self._connect()
            version = _version(connection)
            if version != SCHEMA:
                connection.close()
                raise ResultsError(
                    f"{self.file}: the store has schema version {version}; this harness reads {SCHEMA}",
                    remedy="use the harness that wrote it; nothing was changed",
                )
        return connection

    def create(self) -> str:
        """Makes what is missing; the key of the store's pseudonyms, in hexadecimal digits."""
        for folder in (self.folder, self.watch):
            make_folder(folder)
        self.file.touch(0o600)
        with readable_errors(self.file), closing(self._connect()) as connection:
            if not _version(connection):
                try:
                    connection.executescript(_TABLES)
                    connection.execute("INSERT INTO store VALUES (?)", [secrets.token_hex(32)])
                    connection.execute("COMMIT")
                except sqlite3.OperationalError:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    if not _version(connection):
                        raise  # else another process has made it meanwhile
        flush_folder(self.folder)
        return self.key

    @property
    def key(self) -> str:
        """The key of the store's pseudonyms. Raises ResultsError as `open`."""
        with closing(self.open()) as connection, readable_errors(self.file):
            return str(connection.execute("SELECT key FROM store").fetchone()[0])

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.file, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        connection.create_function("combined_ids", 2, _combined_ids, deterministic=True)
        connection.execute("PRAGMA synchronous = full")
        connection.execute("PRAGMA secure_delete = on")  # what was deleted does not stay in free pages
        connection.execute("PRAGMA cache_size = -32000")
        return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _combined_ids(one: str, other: str) -> str:
    """The exclusive or of two ids of 32 hexadecimal digits: of many, the same in any order."""
    return f"{int(one, 16) ^ int(other, 16):032x}"


@contextmanager
def readable_errors(file: Path) -> Iterator[None]:
    """What SQLite cannot read or write is a ResultsError that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        full = isinstance(error, sqlite3.OperationalError) and "full" in str(error)
        remedy = "free some space there" if full else "mend the file, or move it out of the folder"
        raise ResultsError(f"{file}: the store cannot be used: {error}", remedy=remedy) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction that writes: all of it is on the disk when it ends, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def vacuum(connection: sqlite3.Connection) -> None:
    """Gives free pages back to the disk in small pieces, and empties the write-ahead log."""
    free = -1
    while (now := connection.execute("PRAGMA freelist_count").fetchone()[0]) and now != free:
        free = now
        connection.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
    connection.execute("PRAGMA wal_checkpoint(truncate)").fetchall()


# The records.

_RECORD: Final = ", ".join(StoredRecord._fields)
_INSERT: Final = f"INSERT OR IGNORE INTO records ({_RECORD}) VALUES ({', '.join('?' * len(StoredRecord._fields))})"
_TRACES: Final = """
SELECT source, trusted, trace_id, session, (
    SELECT json_group_array(user_id) FROM users WHERE users.trace_id = traces.trace_id AND users.source = traces.source
), release, model, records, errors, feedback, start_ns, end_ns, received_first_ns, received_last_ns, digest
FROM traces WHERE """


class EmbeddedEngine:
    """The records in the store's own file. One object for each thread."""

    def __init__(self, layout: StoreLayout, connection: sqlite3.Connection) -> None:
        self._layout = layout
        self._connection = connection

    def traces(self, *, received_since_ns: int = 0, sessions: Sequence[str] = ()) -> list[TraceRow]:
        if not sessions:
            return self._traces("received_last_ns >= ?", [received_since_ns])
        found = list[TraceRow]()
        for names in in_pieces(sorted({*sessions})):
            listed = ", ".join("?" * len(names))
            found += self._traces(f"session IN ({listed}) AND +received_last_ns >= ?", [*names, received_since_ns])
        return found

    def _traces(self, condition: str, values: Sequence[object]) -> list[TraceRow]:
        with readable_errors(self._layout.file):
            rows = self._connection.execute(_TRACES + condition, values).fetchall()
        return [
            TraceRow(source, bool(trusted), trace_id, session, json.loads(users), *rest)
            for source, trusted, trace_id, session, users, *rest in rows
        ]

    def records(self, traces: Sequence[tuple[str, str]]) -> list[StoredRecord]:
        pairs, found = set(traces), list[StoredRecord]()
        for names in in_pieces(sorted({trace_id for _, trace_id in pairs})):
            query = f"SELECT {_RECORD} FROM records WHERE trace_id IN ({', '.join('?' * len(names))})"
            with readable_errors(self._layout.file):
                rows = self._connection.execute(query, names).fetchall()
            found += [one for one in map(stored_record, rows) if (one.source, one.trace_id) in pairs]
        return sorted(found, key=lambda one: (one.start_ns, one.end_ns, one.id))

    def delete(self, traces: Sequence[tuple[str, str]]) -> None:
        with readable_errors(self._layout.file), transaction(self._connection):
            delete_traces(self._connection, traces)


def add_records(connection: sqlite3.Connection, records: Iterable[StoredRecord]) -> None:
    """Adds records within a transaction; one that is there already is left as it is. Raises sqlite3.Error."""
    connection.executemany(_INSERT, records)


def delete_traces(connection: sqlite3.Connection, traces: Iterable[tuple[str, str]]) -> None:
    """Removes traces, given as (source, trace id), within a transaction. Raises sqlite3.Error."""
    named = [*traces]
    for table in ("records", "users", "traces"):
        connection.executemany(f"DELETE FROM {table} WHERE source = ? AND trace_id = ?", named)


def oldest_records(connection: sqlite3.Connection, count: int) -> list[tuple[int, StoredRecord]]:
    """The first records that were received, with their numbers. Raises sqlite3.Error."""
    rows = connection.execute(f"SELECT number, {_RECORD} FROM records ORDER BY number LIMIT ?", [count])
    return [(int(row[0]), stored_record(row[1:])) for row in rows.fetchall()]


def stored_record(row: Sequence[Any]) -> StoredRecord:
    """The record of a row in the order of its fields; SQLite stores a truth value as a number."""
    found = StoredRecord._make(row)
    return found._replace(trusted=bool(found.trusted))


def in_pieces(things: Sequence[T], most: int = _AT_ONCE) -> Iterator[Sequence[T]]:
    """So many at a time, for one query or transaction each."""
    for start in range(0, len(things), most):
        yield things[start : start + most]
