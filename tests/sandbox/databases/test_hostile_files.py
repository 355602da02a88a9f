"""SQLite files that an agent has written to harm who reads them: with each provider, and for whom they do harm."""

import time
from pathlib import Path

import pytest

from harness.sandbox.sqlite import MEMORY_MB, SqliteReader
from harness.sandbox.tables import QueryFailed, Unmeasurable
from tests.sandbox.databases.hostile import ENDLESS, database, journal_naming


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("a file of the host")
    return path


def test_a_journal_deletes_nothing(reader: SqliteReader, tmp_path: Path, victim: Path) -> None:
    content = database(tmp_path / "made")
    hostile = {"": content, "-journal": journal_naming(content, victim)}

    with pytest.raises(Unmeasurable, match="in the middle of a transaction"):
        reader.rows(hostile, "select * from menu", 10)
    with pytest.raises(Unmeasurable, match="in the middle of a transaction"):
        reader.tables(hostile, (), 10)
    assert "a file of the host" == victim.read_text()
    assert [{"name": "soup"}] == reader.rows({"": content, "-journal": b""}, "select * from menu", 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "why"),
    [
        (f"{ENDLESS} select count(*) as c from n", "more than 1 s of processor time"),
        (f"{ENDLESS} select x, hex(zeroblob(2000)) as more from n", "its rows are larger than"),
        (f"{ENDLESS} select hex(zeroblob(7000000)) from n", "its rows are larger than"),
        (
            f"{ENDLESS} select count(*) from (select distinct randomblob(1000000) from n)",
            f"more than {MEMORY_MB} MB of memory",
        ),
    ],
)
def test_a_view_has_an_end(reader: SqliteReader, tmp_path: Path, view: str, why: str) -> None:
    content = database(tmp_path / "made", f"alter table menu rename to old; create view menu as {view}")
    started = time.monotonic()

    with pytest.raises(Unmeasurable, match=why):
        reader.rows({"": content}, "select * from menu", 1 if "time" in why else 20)
    assert time.monotonic() - started < 60
    assert [{"name": "soup"}] == reader.rows({"": content}, "select * from old", 10)


@pytest.mark.parametrize(
    "query",
    [
        "attach '/etc/hostname' as other",
        "create table more (x)",
        "insert into menu values ('bread')",
        "pragma writable_schema = on",
        "pragma journal_mode = wal",
        "update sqlite_master set name = 'other'",
        "vacuum into '/tmp/copied'",
        "select load_extension('/tmp/harm')",
        "begin immediate",
    ],
)
def test_a_question_cannot_do_anything_but_read(local_reader: SqliteReader, tmp_path: Path, query: str) -> None:
    with pytest.raises(QueryFailed):
        local_reader.rows({"": database(tmp_path / "made")}, query, 10)


def test_what_reads_is_allowed(local_reader: SqliteReader, tmp_path: Path) -> None:
    content = database(tmp_path / "made", "create virtual table book using fts5(t); insert into book values ('a b')")
    for query, rows in {
        "select value from json_each('[7]')": [{"value": 7}],
        "select name from pragma_table_info('menu')": [{"name": "name"}],
        "select t from book where book match 'b'": [{"t": "a b"}],
        "select upper(name) as n from menu union select 'x'": [{"n": "SOUP"}, {"n": "x"}],
        "with recursive n(x) as (select 1 union all select x + 1 from n where x < 3) select x from n": [
            {"x": 1},
            {"x": 2},
            {"x": 3},
        ],
    }.items():
        assert rows == local_reader.rows({"": content}, query, 10)


def test_what_json_has_not_is_told_all_the_same(local_reader: SqliteReader, tmp_path: Path) -> None:
    content = database(tmp_path / "made", "create table odd (f real, b blob); insert into odd values (9e999, x'00ff')")

    assert [{"f": {"float": "inf"}, "b": {"base64": "AP8="}}] == local_reader.rows(
        {"": content}, "select * from odd", 9
    )


def test_a_database_that_is_too_large_is_told(local_reader: SqliteReader) -> None:
    with pytest.raises(Unmeasurable, match=str(64 << 20)):
        local_reader.rows({"": b"SQLite format 3\0" + bytes(64 << 20)}, "select 1", 10)


@pytest.mark.parametrize("cut", [0, 1, 15, 16, 17, 18, 19, 20, 99, 100, 101, 511, 512, 4095])
def test_a_cut_file_is_refused(local_reader: SqliteReader, tmp_path: Path, cut: int) -> None:
    content = database(tmp_path / "made")
    with pytest.raises(QueryFailed):
        local_reader.rows({"": content[:cut]}, "select * from menu", 10)
