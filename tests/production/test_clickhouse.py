"""ClickHouse as the store's engine, by clickhouse-connect over its own engine in the process (`make clickhouse`).

Traces that a Collector wrote are scored where they are; what the receiver takes arrives there, once, whatever stops.
"""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ResultsError, UsageError
from harness.production.clickhouse import Database
from harness.production.clickhouse_tables import LOGS, OWN, TRACES
from harness.production.receiver import AccessTokens
from harness.production.scoring import ScoringRequest, score_sessions
from harness.production.settings import ClickHouseSettings, OnlineSettings
from harness.production.storage import StoreLayout
from harness.production.store import SessionStore
from harness.suite.loading import load_suite
from tests.production.receiving import TRUSTED, request, serving, span
from tests.production.walking import PROJECT

pytestmark = pytest.mark.slow
CONVERSATION = "gen_ai.conversation.id"
NUMBERS = count(1)
NOW_NS = time.time_ns()


@pytest.fixture
def settings() -> Iterator[ClickHouseSettings]:
    """A database of its own in the process's engine. Without chdb the tests fail; `make clickhouse` installs it."""
    assert find_spec("chdb") is not None, "chdb is not installed; install it by `make clickhouse`"
    made = ClickHouseSettings(url="chdb:", database=f"otel{next(NUMBERS)}")
    kept = Database(made)
    kept.ask("SELECT 1", {})  # the engine forgets what it has in memory when its last connection is collected
    yield made
    kept.do(f"DROP DATABASE IF EXISTS `{made.database}`")


class Collector:
    """Writes rows as the Collector's exporter does: into tables of its columns alone, all attributes as texts."""

    def __init__(self, settings: ClickHouseSettings) -> None:
        self._settings = settings
        self._database = Database(settings)
        self._database.do(f"CREATE DATABASE `{settings.database}`")
        for name, columns in (("traces", TRACES), ("logs", LOGS)):
            listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
            order = "PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, toDateTime(Timestamp))"
            table = settings.traces if name == "traces" else settings.logs
            self._database.do(f"CREATE TABLE `{settings.database}`.`{table}` ({listed}) ENGINE = MergeTree() {order}")

    def span(self, trace: int, number: int, name: str, attributes: dict[str, str], **more: Any) -> None:
        facts = {"SpanId": f"{trace * 1000 + number:016x}", "SpanName": name, "SpanAttributes": attributes}
        facts |= {"Timestamp": NOW_NS - 10**10 + number, "TraceId": f"{trace:032x}", "Duration": 1000}
        facts |= {"StatusCode": "Unset", "ResourceAttributes": {"service.version": "2.4"}, **more}
        self._database.insert("traces", [*facts], [[*facts.values()]])

    def log(self, name: str, body: str, attributes: dict[str, str], **more: Any) -> None:
        facts = {"Timestamp": NOW_NS - 10**10, "EventName": name, "Body": body, "LogAttributes": attributes, **more}
        self._database.insert("logs", [*facts], [[*facts.values()]])


def rows(settings: ClickHouseSettings, table: str) -> int:
    return int(Database(settings).ask(f"SELECT count() FROM `{settings.database}`.`{table}`", {})[0][0])


def test_traces_of_a_collector_are_scored_where_they_are(tmp_path: Path, settings: ClickHouseSettings) -> None:
    collector = Collector(settings)
    said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "42"}]}])
    answered = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "It is open."}]}])
    for _ in range(2):  # sent again, as exporters do; one span is one
        collector.span(
            1, 1, "invoke_agent", {"gen_ai.operation.name": "invoke_agent", CONVERSATION: "c1", "user.id": "u7"}
        )
        collector.span(1, 2, "execute_tool look", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look",
                       "gen_ai.tool.call.arguments": '{"id": 7}', "gen_ai.tool.call.result": "none"},
                       ParentSpanId=f"{1001:016x}", StatusCode="Error", StatusMessage="lost")  # fmt: skip
        collector.span(1, 3, "chat", {"gen_ai.operation.name": "chat", "gen_ai.input.messages": said,
                       "gen_ai.output.messages": answered, "gen_ai.usage.input_tokens": "12",
                       "user.feedback": "thumbs-down"},
                       ParentSpanId=f"{1001:016x}")  # fmt: skip
    collector.log("claude_code.user_prompt", "hello", {"session.id": "c2"})
    assert 6 == rows(settings, "otel_traces")

    store = SessionStore.open(tmp_path / "online", settings)
    found = {row.key: row for row in store.sessions()}
    assert {"clickhouse:c1", "clickhouse:c2"} == {*found}
    row = found["clickhouse:c1"]
    assert (3, 1, ("u7",), "2.4", 0.0, False) == (
        row.records, row.errors, row.users, row.release, row.feedback, row.trusted
    )  # fmt: skip
    trajectory = store.session("c1").trajectory
    assert trajectory is not None
    assert [("look", {"id": 7})] == [(call.name, call.arguments) for call in trajectory.calls]
    assert ["42"] == [step.message for step in trajectory.steps if step.source == "user"]
    assert [12] == [step.usage.input_tokens for step in trajectory.steps if step.usage]
    assert {None} == {call.evidence for call in trajectory.calls}
    assert ["claude_code.user_prompt"] == [one.name for one in store.session("c2").spans]

    asked = ScoringRequest(suite=load_suite(PROJECT, "drive_thru"), settings=OnlineSettings(pause_s=1))
    first, again = score_sessions(store, asked), score_sessions(store, asked)
    assert (1, 1) == (first.scored, first.unreadable)
    assert (2, 0) == (again.before, again.scored)
    collector.span(1, 4, "late", {CONVERSATION: "c1"})
    assert 1 == score_sessions(store, asked).scored


def test_what_the_receiver_sends_is_read_as_from_its_own_files(tmp_path: Path, settings: ClickHouseSettings) -> None:
    facts = {CONVERSATION: "c1", "n": 3, "ratio": 0.5, "is": True, "user.feedback": 0.25}
    event = {"name": "said", "timeUnixNano": "7", "attributes": [{"key": "k", "value": {"intValue": "5"}}]}
    body = request(span(1, 1, attributes=facts, events=[event]), span(1, 2), resource={"service.version": "2.4"})
    record = {"eventName": "claude_code.user_prompt", "timeUnixNano": "9", "body": {"stringValue": "hi"}}
    record["attributes"] = [{"key": "session.id", "value": {"stringValue": "c2"}}]
    log = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    told = []
    for folder, options in ((tmp_path / "files", {}), (tmp_path / "tables", {"clickhouse": settings})):
        with serving(folder, **options) as served:
            for path, one in (("/v1/traces", body), ("/v1/logs", log)):
                for token in ({}, {"Authorization": f"Bearer {TRUSTED}"}):
                    assert 200 == served.post(path, one, headers=token).status
            served.maintain()
            assert {} == {name: number for name, number in served.receiver.counts.items() if "failed" in name}
            store = SessionStore.open(folder, options.get("clickhouse"))
            plain = [row.model_dump(exclude={"received_first_ns", "received_last_ns", "digest", "trace_ids"})
                     for row in sorted(store.sessions(), key=lambda row: row.key)]  # fmt: skip
            spans = [store.session(row["key"]).spans for row in plain]
            told.append((plain, [[one.model_dump(exclude={"trace_id", "span_id"}) for one in some] for some in spans]))
    assert told[0] == told[1]
    assert {"default:c1", "default:c2", "harness:c1", "harness:c2"} == {row["key"] for row in told[1][0]}
    assert 4 == rows(settings, "otel_traces")
    assert 0 == waiting(tmp_path / "tables")


def waiting(folder: Path) -> int:
    """Records in the store's own file."""
    with closing(StoreLayout(folder).open()) as connection:
        return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])


class Server:
    """ClickHouse over HTTP, that is stopped and started again on one port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.production.clickhouse_server", str(self.folder), str(self.port)]
        self._process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline()

    def stop(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "clickhouse")
    yield made
    made.stop()


def test_while_clickhouse_is_stopped_records_are_kept_and_sent_again(tmp_path: Path, server: Server) -> None:
    settings = ClickHouseSettings(url=f"http://127.0.0.1:{server.port}", database="otel")
    bodies = [request(span(number, 1, attributes={CONVERSATION: f"c{number}"})) for number in range(1, 6)]

    def keys(store: SessionStore) -> list[str]:
        return sorted(row.key for row in store.sessions())

    with serving(tmp_path / "online", clickhouse=settings) as served:
        assert 200 == served.post("/v1/traces", bodies[0]).status
        served.maintain()
        assert served.receiver.counts["sending failed"]
        with pytest.raises(ResultsError, match=f"http://127.0.0.1:{server.port}"):
            SessionStore.open(tmp_path / "online", settings).sessions()
        assert 200 == served.post("/v1/traces", bodies[1]).status
    with serving(tmp_path / "online", clickhouse=settings) as served:  # the receiver too was ended meanwhile
        server.start()
        served.maintain()
        store = SessionStore.open(tmp_path / "online", settings)
        assert ["default:c1", "default:c2"] == keys(store)
        server.stop()
        assert 200 == served.post("/v1/traces", bodies[2]).status
        served.maintain()
        assert served.receiver.counts["sending failed"]
        assert 200 == served.post("/v1/traces", bodies[3]).status
        server.start()
        served.maintain()
        assert 0 == served.receiver.status["waiting_records"]
        assert [f"default:c{number}" for number in range(1, 5)] == keys(
            SessionStore.open(tmp_path / "online", settings)
        )


def test_records_that_are_sent_twice_count_once(tmp_path: Path, settings: ClickHouseSettings) -> None:
    one = request(span(1, 1, attributes={CONVERSATION: "c1"}), span(1, 2))
    for _ in range(2):  # the second time as if the receiver was killed before it removed what it had sent
        with serving(tmp_path) as served:
            served.post("/v1/traces", one)
        store = SessionStore.open(tmp_path, settings)
        store.maintain()
    assert 4 == rows(settings, "otel_traces")
    assert [2] == [row.records for row in store.sessions()]
    assert 2 == len(store.session("c1").spans)


def test_deleted_sessions_are_in_no_table_and_no_file(tmp_path: Path, settings: ClickHouseSettings) -> None:
    with serving(tmp_path, clickhouse=settings) as served:
        for number, user in ((1, "ann"), (2, "bob"), (3, "ann")):
            facts = {CONVERSATION: f"chat-{number}", "user.id": user}
            served.post("/v1/traces", request(span(number, 1, attributes=facts)))
        served.maintain()
        served.post("/v1/traces", request(span(1, 2, attributes={CONVERSATION: "chat-1"})))
        store = SessionStore.open(tmp_path, settings)
        assert 2 == store.delete(user_id="ann")
        served.maintain()
        assert ["default:chat-2"] == [row.key for row in store.sessions()]
        assert 1 == rows(settings, "otel_traces")


def test_clocks_that_lie_keep_no_session_from_being_scored(tmp_path: Path, settings: ClickHouseSettings) -> None:
    day_ns = 86_400 * 10**9
    with serving(tmp_path, clickhouse=settings) as served:
        spans = [span(number, 1, startTimeUnixNano=str(number * day_ns), attributes={CONVERSATION: f"c{number}"})
                 for number in range(1, 301)]  # fmt: skip
        assert 200 == served.post("/v1/traces", request(*spans)).status
        served.maintain()
        store = SessionStore.open(tmp_path, settings)
        assert 300 == len(store.sessions())
    collector = Collector(other := settings.model_copy(update={"database": f"otel{next(NUMBERS)}"}))
    collector.span(1, 1, "later", {CONVERSATION: "later"}, Timestamp=NOW_NS + 400 * day_ns)
    (row,) = SessionStore.open(tmp_path, other).sessions()
    assert row.received_last_ns <= time.time_ns()
    assert NOW_NS // day_ns <= row.received_last_ns // day_ns


def test_credentials_in_rows_of_others_are_not_read(tmp_path: Path, settings: ClickHouseSettings) -> None:
    collector = Collector(settings)
    collector.span(1, 1, "chat", {CONVERSATION: "c1", "authorization": "Bearer abcdef0123456789abcdef"})
    (kept,) = SessionStore.open(tmp_path, settings).session("c1").spans
    assert "abcdef0123456789" not in str(kept.attributes)


def test_a_row_beyond_the_bounds_is_shown_with_the_reason(tmp_path: Path, settings: ClickHouseSettings) -> None:
    collector = Collector(settings)
    collector.span(1, 1, "chat", {CONVERSATION: "c1"})
    collector.span(1, 2, "wide", {f"a{number}": "x" for number in range(1_001)})
    spans = SessionStore.open(tmp_path, settings).session("c1").spans
    assert ["more than 1000 attributes or 2000 events"] == [
        one.attributes["harness.left_out"] for one in spans if "harness.left_out" in one.attributes
    ]


def _json_attributes(settings: ClickHouseSettings) -> Database:
    """The connection: chdb's tables in memory are gone with the last one."""
    database = Database(settings)
    database.do(f"CREATE DATABASE `{settings.database}`")
    database.do(f"CREATE TABLE `{settings.database}`.otel_traces (ResourceAttributes JSON) ENGINE = Memory")
    return database


@pytest.mark.parametrize(
    ("make", "said"),
    [(Database, "has no table"), (_json_attributes, "is of the type JSON, not a map")],
    ids=["no table", "json"],
)
def test_tables_that_cannot_be_read_are_told(
    tmp_path: Path, settings: ClickHouseSettings, make: Callable[[ClickHouseSettings], Database], said: str
) -> None:
    database = make(settings)
    with pytest.raises(ResultsError, match=said):
        SessionStore.open(tmp_path, settings).sessions()
    del database


def test_settings_that_cannot_be_used_are_refused(
    tmp_path: Path, settings: ClickHouseSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(UsageError, match="NOT_SET"):
        SessionStore.open(tmp_path, settings.model_copy(update={"password_variable": "NOT_SET"}))
    with pytest.raises(UsageError, match="--retention-days"):
        SessionStore.open(tmp_path, settings).maintain(retention_days=1)
    with (
        pytest.raises(UsageError, match="--retention-days"),
        serving(tmp_path, AccessTokens({}, {}), clickhouse=settings, retention_days=1.0),
    ):
        pass
    assert {"HarnessSource", "HarnessBody"} <= {*OWN}
