"""A SQLite file asked for its rows. It is opened read-only, and as a copy: nothing is left beside it."""

import base64
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from harness.frozen import JsonObject, JsonValue
from harness.sandbox.sql.tables import QueryFailed, Table


def rows_in(file: Path, query: str) -> list[JsonValue]:
    """The rows of a query. Raises QueryFailed, also for a file that is no database."""
    with _opened(file) as database:
        return [*_rows(database, query)]


def tables_in(file: Path, wanted: tuple[str, ...]) -> dict[str, Table]:
    """The wanted tables (none given: all) that there are."""
    with _opened(file) as database:
        listed = "select name from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\'"
        names = [str(name) for (name,) in database.execute(f"{listed} order by name")]
        return {name: _table(database, name) for name in names if not wanted or name in wanted}


def _table(database: sqlite3.Connection, name: str) -> Table:
    columns = database.execute("select name, pk from pragma_table_info(?) where pk > 0 order by pk", (name,)).fetchall()
    quoted = '"' + name.replace('"', '""') + '"'
    return Table(
        key=tuple(str(column) for column, _ in columns), rows=tuple(_rows(database, f"select * from {quoted}"))
    )


def _rows(database: sqlite3.Connection, query: str) -> Iterator[JsonObject]:
    cursor = database.execute(query)
    names = [str(column[0]) for column in cursor.description or ()]
    for row in cursor:
        yield {name: _plain(value) for name, value in zip(names, row, strict=True)}


def _plain(value: object) -> JsonValue:
    """Bytes as `{"base64": ...}`, since JSON has none."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    assert value is None or isinstance(value, str | int | float)  # SQLite has no other values
    return value


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    try:
        # Not `mode=ro`: what a crash left in a journal or a write-ahead log must be brought in first.
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=rw", uri=True)) as database:
            database.execute("select count(*) from sqlite_master").fetchone()
            database.execute("pragma query_only = on")
            yield database
    except sqlite3.Error as error:
        raise QueryFailed(str(error)) from None
