"""SQLite files asked for their rows, and what changed between two of them."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from harness.sandbox.sqlite import SqliteReader
from harness.sandbox.tables import QueryFailed, Table, changes

Changed = Callable[..., dict[str, object]]

SCHEMA = """
create table loan (id integer primary key, book text, day text);
create table tag (name text, weight real);
insert into loan values (1, 'Dune', 'mon'), (2, 'Solaris', 'mon');
insert into tag values ('a', 1.5), ('a', 1.5), ('b', null);
"""


@pytest.fixture
def database(tmp_path: Path) -> Callable[..., Path]:
    def write(*scripts: str) -> Path:
        path = tmp_path / f"{uuid4().hex}.sqlite"
        connection = sqlite3.connect(path)
        for script in (SCHEMA, *scripts):
            connection.executescript(script)
        connection.close()
        return path

    return write


@pytest.fixture
def changed(local_reader: SqliteReader) -> Changed:
    def compare(before: Path, after: Path, **ignore: tuple[str, ...]) -> dict[str, object]:
        told = changes(tables_of(local_reader, before), tables_of(local_reader, after), ignore)
        return {
            name: {kind: rows for kind, rows in one.items() if kind not in ("rows", "digest")}
            for name, one in told.items()
            if isinstance(one, dict)
        }

    return compare


def tables_of(reader: SqliteReader, path: Path, *wanted: str) -> dict[str, Table]:
    return reader.tables({"": path.read_bytes()}, wanted, 20)


def test_rows_are_told_by_their_key(database: Callable[..., Path], changed: Changed) -> None:
    after = database(
        "update loan set day = 'tue' where id = 2",
        "delete from loan where id = 1",
        "insert into loan values (3, 'Kindred', 'tue')",
    )

    assert {
        "loan": {
            "added": [{"id": 3, "book": "Kindred", "day": "tue"}],
            "removed": [{"id": 1, "book": "Dune", "day": "mon"}],
            "changed": [{"key": {"id": 2}, "before": {"day": "mon"}, "after": {"day": "tue"}}],
        },
        "tag": {},
    } == changed(database(), after)


def test_rows_without_a_key_are_counted(database: Callable[..., Path], changed: Changed) -> None:
    after = database("delete from tag where rowid = 1; insert into tag values ('b', null)")

    assert {"added": [{"name": "b", "weight": None}], "removed": [{"name": "a", "weight": 1.5}]} == changed(
        database(), after
    )["tag"]


def test_columns_that_are_left_out_and_tables_that_come_and_go(database: Callable[..., Path], changed: Changed) -> None:
    later = database("update loan set day = 'tue'")
    dropped = database("drop table tag; create table fine (id integer primary key)")

    assert {"loan": {}, "tag": {}} == changed(database(), later, loan=("day",))
    assert {"table": "added"} == changed(database(), dropped)["fine"]
    assert {"name": "a", "weight": 1.5} in changed(database(), dropped)["tag"]["removed"]
    assert "removed" == changed(database(), dropped)["tag"]["table"]


def test_changes_do_not_depend_on_where_the_rows_lie(database: Callable[..., Path], local_reader: SqliteReader) -> None:
    moved = database("delete from loan where id = 1; vacuum; insert into loan values (1, 'Dune', 'mon')")
    before, after = (tables_of(local_reader, path, "loan")["loan"] for path in (database(), moved))
    reversed_ = Table(key=after.key, rows=after.rows[::-1])

    unchanged = changes({"loan": before}, {"loan": before}, {})
    assert unchanged == changes({"loan": before}, {"loan": after}, {})
    assert unchanged == changes({"loan": before}, {"loan": reversed_}, {})
    assert unchanged != changes({"loan": before}, {"loan": Table(key=("id",), rows=before.rows[:1])}, {})


def test_a_query_is_answered_and_cannot_write(database: Callable[..., Path], local_reader: SqliteReader) -> None:
    parts = {"": database("create table raw (b blob); insert into raw values (x'00ff')").read_bytes()}

    assert [{"book": "Solaris"}] == local_reader.rows(parts, "select book from loan where id = 2", 20)
    assert [{"b": {"base64": "AP8="}}] == local_reader.rows(parts, "select b from raw", 20)
    for refused in ("delete from loan", "select * from nothing", "select"):
        with pytest.raises(QueryFailed):
            local_reader.rows(parts, refused, 20)
    assert 2 == len(local_reader.rows(parts, "select * from loan", 20))


def test_what_a_write_ahead_log_holds_is_seen(database: Callable[..., Path], reader: SqliteReader) -> None:
    path = database()
    connection = sqlite3.connect(path)
    connection.execute("pragma journal_mode = wal")
    connection.execute("insert into loan values (9, 'Ubik', 'wed')")
    connection.commit()
    parts = {part: Path(f"{path}{part}").read_bytes() for part in ("", "-wal")}  # while it is open
    connection.close()

    assert [{"book": "Ubik"}] == reader.rows(parts, "select book from loan where id = 9", 20)
    assert [] == reader.rows({"": parts[""]}, "select book from loan where id = 9", 20)


def test_a_file_that_is_no_database_is_told(local_reader: SqliteReader) -> None:
    text = b"not a database, but long enough to be taken for one" * 40
    with pytest.raises(QueryFailed, match="not a database"):
        local_reader.rows({"": text}, "select 1", 20)
