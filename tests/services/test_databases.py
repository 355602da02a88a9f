"""Databases asked for their rows: SQLite files, and SQLite in a service."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from harness.errors import UsageError
from harness.sandbox.environment import DatabasePlace, Environment
from harness.sandbox.images import ImageStore
from harness.sandbox.services import start_services
from harness.sandbox.snapshot import Snapshot
from harness.sandbox.sql.sqlite import rows_in, tables_in
from harness.sandbox.sql.tables import QueryFailed, Table, changes, digest_of_rows

Shop = Callable[..., tuple[Environment, object]]

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


def changed(before: Path, after: Path, **ignore: tuple[str, ...]) -> dict[str, object]:
    told = changes(tables_in(before, ()), tables_in(after, ()), ignore)
    return {
        name: {kind: rows for kind, rows in one.items() if kind not in ("rows", "digest")}
        for name, one in told.items()
        if isinstance(one, dict)
    }


def test_rows_are_told_by_their_key(database: Callable[..., Path]) -> None:
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


def test_rows_without_a_key_are_counted(database: Callable[..., Path]) -> None:
    after = database("delete from tag where rowid = 1; insert into tag values ('b', null)")

    assert {"added": [{"name": "b", "weight": None}], "removed": [{"name": "a", "weight": 1.5}]} == changed(
        database(), after
    )["tag"]


def test_columns_that_are_left_out_and_tables_that_come_and_go(database: Callable[..., Path]) -> None:
    later = database("update loan set day = 'tue'")
    dropped = database("drop table tag; create table fine (id integer primary key)")

    assert {"loan": {}, "tag": {}} == changed(database(), later, loan=("day",))
    assert {"table": "added"} == changed(database(), dropped)["fine"]
    assert {"name": "a", "weight": 1.5} in changed(database(), dropped)["tag"]["removed"]  # type: ignore[index]
    assert "removed" == changed(database(), dropped)["tag"]["table"]  # type: ignore[index]


def test_a_digest_does_not_depend_on_where_the_rows_lie(database: Callable[..., Path]) -> None:
    moved = database("delete from loan where id = 1; vacuum; insert into loan values (1, 'Dune', 'mon')")
    before, after = tables_in(database(), ("loan",))["loan"], tables_in(moved, ("loan",))["loan"]
    reversed_ = Table(key=after.key, rows=after.rows[::-1])

    assert digest_of_rows(before) == digest_of_rows(after) == digest_of_rows(reversed_)
    assert digest_of_rows(before) != digest_of_rows(Table(key=("id",), rows=before.rows[:1]))


def test_a_query_is_answered_and_cannot_write(database: Callable[..., Path]) -> None:
    path = database("create table raw (b blob); insert into raw values (x'00ff')")

    assert [{"book": "Solaris"}] == rows_in(path, "select book from loan where id = 2")
    assert [{"b": {"base64": "AP8="}}] == rows_in(path, "select b from raw")
    for refused in ("delete from loan", "select * from nothing", "select"):
        with pytest.raises(QueryFailed):
            rows_in(path, refused)
    assert 2 == len(rows_in(path, "select * from loan"))


def test_what_a_write_ahead_log_holds_is_seen(database: Callable[..., Path], tmp_path: Path) -> None:
    path = database()
    connection = sqlite3.connect(path)
    connection.execute("pragma journal_mode = wal")
    connection.execute("insert into loan values (9, 'Ubik', 'wed')")
    connection.commit()
    copy = tmp_path / "copy"
    for part in ("", "-wal"):  # while it is open
        Path(f"{copy}{part}").write_bytes(Path(f"{path}{part}").read_bytes())
    connection.close()

    assert [{"book": "Ubik"}] == rows_in(copy, "select book from loan where id = 9")


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be taken for one" * 40)
    with pytest.raises(QueryFailed, match="not a database"):
        rows_in(tmp_path / "text", "select 1")


SERVICE = f"""
import sqlite3, time
connection = sqlite3.connect("/tmp/shop.sqlite")
connection.executescript({SCHEMA!r})
connection.close()
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.docker
def test_the_database_of_a_service_is_asked(shop: Shop, images: ImageStore) -> None:
    environment, _ = shop(
        command=["python3", "-c", SERVICE],
        wait={"log": "ready"},
        database=DatabasePlace(sqlite="/tmp/shop.sqlite").model_dump(),
    )
    nothing = Snapshot(name="empty", environment="shop")
    with start_services(environment, nothing, images=images, run=f"test-{uuid4().hex}") as services:
        assert [{"n": 2}] == services.rows("lines", "select count(*) as n from loan", 30)
        assert ["tag"] == list(services.tables("lines", ["tag", "nothing"], 30))
        with pytest.raises(QueryFailed, match="no such table: nowhere"):
            services.rows("lines", "select * from nowhere", 30)


@pytest.mark.docker
@pytest.mark.slow
def test_a_service_without_a_database_cannot_be_asked(shop: Shop, images: ImageStore) -> None:
    environment, _ = shop()
    nothing = Snapshot(name="empty", environment="shop")
    with (
        start_services(environment, nothing, images=images, run=f"test-{uuid4().hex}") as services,
        pytest.raises(UsageError, match=r"'lines' does not say how its database is asked"),
    ):
        services.rows("lines", "select 1", 30)
