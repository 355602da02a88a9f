"""Scoring goes on after what fails, names it with a remedy, and loses and doubles no score."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ResultsError
from harness.production.scoring import ScoringRequest, score_sessions
from harness.production.sending import langfuse_sender
from harness.production.settings import OnlineSettings
from harness.production.storage import StoreLayout
from harness.production.store import SessionStore
from harness.suite.loading import load_suite
from tests.production.langfuse.langfuse_server import LangfuseServer, langfuse_server
from tests.production.receiving import Served, request, serving, span
from tests.production.walking import PROJECT, harness, harness_json

NOW = OnlineSettings(pause_s=0)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a store of three sessions that are complete."""
    (tmp_path / "suites").symlink_to(PROJECT / "suites")
    (tmp_path / "online.yaml").write_text("pause_s: 0\n")
    with serving(tmp_path / "online") as served:
        send(served, 3)
    return tmp_path


def send(served: Served, count: int) -> None:
    for number in range(1, count + 1):
        facts = {"gen_ai.conversation.id": f"c{number}", "gen_ai.operation.name": "invoke_agent"}
        served.post("/v1/traces", request(span(number, 1, attributes=facts)))


@pytest.fixture
def langfuse(monkeypatch: pytest.MonkeyPatch) -> Iterator[LangfuseServer]:
    with langfuse_server() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


def test_langfuse_gets_checks_metrics_and_failure_modes_once(served: Served, langfuse: LangfuseServer) -> None:
    send(served, 2)
    suite = load_suite(PROJECT, "drive_thru")
    store, sender = served.store(), langfuse_sender()
    score_sessions(store, ScoringRequest(suite=suite, settings=NOW, send_to="langfuse"))
    sent = store.score_store.deliver("langfuse", sender)
    assert sent == len(langfuse.scores) > 0
    by_trace: dict[str, dict[str, Any]] = {}
    for one in langfuse.scores.values():
        by_trace.setdefault(one["traceId"], {})[one["name"]] = one
    assert {f"{1:032x}", f"{2:032x}"} == by_trace.keys()
    for score in served.store().scores():
        assert score.card is not None
        found = by_trace[score.trace_id]
        assert {f"check.{one.check}" for one in score.card.verdicts if one.passed is not None} <= found.keys()
        assert {one.metric for one in score.card.scores if one.value is not None} <= found.keys()
        assert {"suite", "scorer", "rate"} == found["steps"]["metadata"].keys()
    assert (sent, sent) == (sender(store.scores()), len(langfuse.scores))


@pytest.mark.slow
def test_watching_goes_on_after_a_round_that_fails(project: Path) -> None:
    with closing(StoreLayout(project / "online").open()) as connection:
        connection.execute("ALTER TABLE traces RENAME TO hidden")
    command = [sys.executable, "-m", "harness", "--project", str(project), "online", "score", "basics", "--json"]
    process = subprocess.Popen([*command, "--watch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "store.db" in json.loads(process.stdout.readline())["error"]
        with closing(StoreLayout(project / "online").open()) as connection:
            connection.execute("ALTER TABLE hidden RENAME TO traces")
        rounds = (json.loads(line) for line in process.stdout)
        assert 3 == next(one for one in rounds if "rules" in one)["rules"]["scored"]
    finally:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert 130 == process.returncode
    assert "store.db" in told
    assert "Traceback" not in told


def test_a_wrong_suite_ends_watching_at_once(project: Path) -> None:
    assert "'basic'" in harness("online", "score", "basic", "--watch", status=2, project=project)


@pytest.mark.slow
def test_a_full_disk_is_named_and_every_session_is_scored_once_afterwards(project: Path) -> None:
    command = [sys.executable, "-m", "harness", "--project", str(project), "online", "score", "basics"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    full = subprocess.run(
        ["prlimit", "--fsize=4000", *command], capture_output=True, text=True, env=environment, timeout=120
    )
    assert 3 == full.returncode, full.stdout + full.stderr
    assert str(project / "online" / "store.db") in full.stderr
    assert "Traceback" not in full.stderr
    store = SessionStore.open(project / "online")
    assert [] == store.scores()
    assert 3 == harness_json("online", "score", "basics", project=project)["rules"]["scored"]
    assert 3 == len(list(store.score_store.read()))


def test_a_damaged_score_names_itself_and_how_to_go_on(project: Path) -> None:
    harness("online", "score", "basics", project=project)
    store = SessionStore.open(project / "online")
    store.score_store.ask("UPDATE documents SET document = '{}' WHERE number = 2")
    with pytest.raises(ResultsError, match=r"score 2 .*field 'session': is missing.*\n.*DELETE FROM scores") as told:
        list(store.score_store.read())
    remedy = re.search(r"'(DELETE FROM scores[^']*)'", str(told.value))
    assert remedy is not None
    store.score_store.ask(remedy[1])
    assert 1 == harness_json("online", "score", "basics", project=project)["rules"]["scored"]


def test_a_report_after_retention_has_removed_every_score_says_so(project: Path) -> None:
    harness("online", "score", "basics", project=project)
    SessionStore.open(project / "online").maintain(retention_days=1e-9)
    told = harness("online", "report", "basics", project=project, status=2)
    assert "retention" in told
    assert "Traceback" not in told
    assert 0 == harness_json("online", "watch", "basics", project=project)["charts"]


def test_rounds_of_two_processes_at_once_share_the_work(tmp_path: Path) -> None:
    (tmp_path / "suites").symlink_to(PROJECT / "suites")
    (tmp_path / "online.yaml").write_text("pause_s: 0\n")
    with serving(tmp_path / "online") as served:
        send(served, 250)
    command = [sys.executable, "-m", "harness", "--project", str(tmp_path), "online", "score", "basics", "--json"]
    rounds = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    scored = [json.loads(one.communicate(timeout=120)[0])["rules"]["scored"] for one in rounds]
    assert 250 == sum(scored)
    assert 250 == len(SessionStore.open(tmp_path / "online").scores())
