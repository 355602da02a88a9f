"""The interface of engines: where records are stored, and the few questions that the store asks of them.

`EmbeddedEngine` reads the store's own file, which the receiver writes; `ClickHouseEngine` the tables of the Collector's
exporter.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

from harness.production.record import StoredRecord, TraceRow
from harness.production.storage import StoreLayout, readable_errors, transaction

_AT_ONCE: Final = 500
"""Names in one query."""
_RECORD: Final = ", ".join(StoredRecord._fields)
_INSERT: Final = f"INSERT OR IGNORE INTO records ({_RECORD}) VALUES ({', '.join('?' * len(StoredRecord._fields))})"
_TRACES: Final = """
SELECT source, trusted, trace_id, session, (
    SELECT json_group_array(user_id) FROM users WHERE users.trace_id = traces.trace_id AND users.source = traces.source
), release, model, records, errors, feedback, start_ns, end_ns, received_first_ns, received_last_ns, digest
FROM traces WHERE """


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


def in_pieces(names: Sequence[str], most: int = _AT_ONCE) -> Iterator[Sequence[str]]:
    """The names in pieces for one query each."""
    for start in range(0, len(names), most):
        yield names[start : start + most]
