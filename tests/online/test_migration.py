"""Older stores are read as they are, and become stores of this schema when they are written; sessions are found by an
index where a part has one.
"""

import json
import os
import re
from pathlib import Path

import pytest

from harness.errors import ResultsError
from harness.production.compaction import migrate
from harness.production.storage import SCHEMA, StoreLayout
from harness.production.store import SessionStore
from tests.online.receiving import request, serving, span

CONVERSATION = "gen_ai.conversation.id"


def filled(folder: Path, sessions: int = 6) -> None:
    """A store of so many sessions in as many parts; each has a second trace in the part of the next."""
    with serving(folder) as served:
        for number in range(1, sessions + 1):
            late = span(100 + number - 1, 1, attributes={CONVERSATION: f"c{number - 1}"})
            served.post("/v1/traces", request(span(number, 1, attributes={CONVERSATION: f"c{number}"}), late))
            served.post("/v1/traces", request(span(number, 2)))
            served.compact()


def as_version_1(folder: Path) -> None:
    for index in (folder / "parts").glob("*.index"):
        index.unlink()
    file = folder / "store.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema_version": 1}))


def told(folder: Path) -> dict[str, tuple[int, tuple[str, ...]]]:
    store = SessionStore.open(folder)
    return {name: (len(store.session(name).spans), store.session(name).row.trace_ids) for name in ("c1", "c3", "c5")}


def test_a_store_of_version_1_is_read_as_it_is_and_migrated_by_who_writes_it(tmp_path: Path) -> None:
    filled(tmp_path)
    parts = sorted((tmp_path / "parts").glob("*.parquet"))
    before = told(tmp_path)
    assert (3, 2) == (before["c3"][0], len(before["c3"][1]))

    as_version_1(tmp_path)
    assert before == told(tmp_path)
    SessionStore.open(tmp_path).compact()
    assert SCHEMA == StoreLayout(tmp_path).open().schema_version
    assert parts == sorted((tmp_path / "parts").glob("*.parquet"))
    assert all(part.with_suffix(".index").is_file() for part in parts)
    assert before == told(tmp_path)


def test_a_receiver_migrates_the_store_that_it_opens(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    as_version_1(tmp_path)
    with serving(tmp_path):
        assert SCHEMA == StoreLayout(tmp_path).open().schema_version


def test_a_migration_that_was_killed_is_begun_again(tmp_path: Path) -> None:
    filled(tmp_path)
    before = told(tmp_path)
    as_version_1(tmp_path)
    first, *_ = sorted((tmp_path / "parts").glob("*.parquet"))
    layout = StoreLayout(tmp_path)
    first.with_suffix(".index").mkdir()  # nothing can be written there
    with pytest.raises(OSError, match=first.stem):
        migrate(layout)
    assert 1 == layout.open().schema_version
    first.with_suffix(".index").rmdir()

    assert [SCHEMA] == migrate(layout)
    assert [] == migrate(layout)
    assert before == told(tmp_path)


def test_a_session_is_fetched_from_the_parts_that_hold_it_and_from_no_other(tmp_path: Path) -> None:
    filled(tmp_path)
    before = told(tmp_path)
    parts = sorted((tmp_path / "parts").glob("*.parquet"))
    parts[0].write_bytes(b"unreadable")
    assert before["c5"] == (len(SessionStore.open(tmp_path).session("c5").spans), before["c5"][1])
    with pytest.raises(ResultsError, match=re.escape(str(parts[0]))):
        SessionStore.open(tmp_path).session("c1")


def test_a_damaged_or_missing_index_costs_time_and_no_session(tmp_path: Path) -> None:
    filled(tmp_path)
    before = told(tmp_path)
    first, second, *_ = sorted((tmp_path / "parts").glob("*.index"))
    first.write_bytes(b"torn")
    second.unlink()
    assert before == told(tmp_path)


def test_parts_that_go_take_their_indexes_with_them(tmp_path: Path) -> None:
    filled(tmp_path, 10)
    store = SessionStore.open(tmp_path)
    store.compact()
    store.delete(session="c2")
    assert {path.stem for path in (tmp_path / "parts").glob("*.index")} == {
        path.stem for path in (tmp_path / "parts").glob("*.parquet")
    }
    leftover = tmp_path / "parts" / "000000000900-000000000900.index"
    leftover.write_bytes(b"")
    os.utime(leftover, (0, 0))
    store.compact(retention_days=1e-9)
    assert [] == list((tmp_path / "parts").iterdir())
