"""Sessions are found by an index if a part has one; a store of another schema is refused."""

import json
import os
import re
from pathlib import Path

import pytest

from harness.errors import ResultsError
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


def told(folder: Path) -> dict[str, tuple[int, tuple[str, ...]]]:
    store = SessionStore.open(folder)
    return {name: (len(store.session(name).spans), store.session(name).row.trace_ids) for name in ("c1", "c3", "c5")}


def test_a_store_of_another_version_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    file = tmp_path / "store.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema_version": 1}))
    with pytest.raises(ResultsError, match="schema version 1"):
        SessionStore.open(tmp_path)


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
