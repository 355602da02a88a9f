"""What leaves: to the named host only; and what is forgotten is forgotten there too."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.production.days import DayFacts
from harness.production.scores import SessionScore
from harness.production.scoring import ScoringRequest, score_sessions
from harness.production.sending import otlp_logs_sender, post_otlp
from harness.production.settings import OnlineSettings
from harness.production.store import SessionStore
from harness.production.watch import daily_report
from harness.suite.loading import load_suite
from tests.production.receiving import Served, request, serving, span
from tests.production.walking import PROJECT, harness, harness_json
from tests.serving import Answering, listening

NOW = OnlineSettings(pause_s=0)
CONVERSATION = "gen_ai.conversation.id"


@contextmanager
def answering(status: int, location: str = "") -> Iterator[tuple[str, list[str | None]]]:
    """A server that always answers so: its address, and the Authorization header of each request."""
    seen: list[str | None] = []

    class Handler(Answering):
        def answer(self) -> None:
            seen.append(self.headers.get("Authorization"))
            self.sent()
            self.give(status, b"", {"Location": location})

        do_GET = do_POST = answer

    with listening(Handler) as address:
        yield address, seen


def scored(served: Served, *, sessions: int = 2) -> SessionStore:
    """Sessions in the store, scored, with their scores waiting."""
    for number in range(1, sessions + 1):
        facts = {CONVERSATION: f"chat-{number}", "gen_ai.operation.name": "invoke_agent"}
        served.post("/v1/traces", request(span(number, 1, attributes=facts)))
    store = served.store()
    score_sessions(store, ScoringRequest(suite=load_suite(PROJECT, "basics"), settings=NOW, send_to="otlp"))
    assert sessions == store.score_store.waiting("otlp")
    return store


@pytest.mark.parametrize("status", [302, 307])
def test_no_redirect_is_followed_with_credentials(status: int, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    (score,) = scored(served, sessions=1).scores()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer secret")
    with answering(200) as (other, reached), answering(status, f"{other}/elsewhere") as (url, seen):
        with pytest.raises(HarnessError, match=f"HTTP {status}"):
            post_otlp(url, "/v1/logs", {}, "secret")
        with pytest.raises(HarnessError, match=f"HTTP {status}"):
            otlp_logs_sender(url)([score])
    assert (["Bearer secret"] * 2, []) == (seen, reached)


def files_with(folder: Path, word: bytes) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and word in path.read_bytes())
    return sorted(str(path.relative_to(folder)) for path in found)


def test_a_deleted_session_waits_for_nobody(served: Served) -> None:
    store, sent = scored(served), list[SessionScore]()
    assert 1 == store.delete(session="chat-1")
    assert 1 == store.score_store.deliver("otlp", lambda scores: sent.extend(scores) or len(scores))
    assert ["default:chat-2"] == [one.session for one in sent]


def test_retention_drops_scores_recordings_and_what_waits(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        (row, _) = scored(served).sessions()
    recorded = tmp_path / "judge" / "suite" / f"session-{row.id}.yaml"
    recorded.parent.mkdir(parents=True)
    recorded.write_text("asked: chat-1\n")
    store = SessionStore.open(tmp_path)
    store.maintain(retention_days=1)
    assert (2, True, 2) == (len(store.scores()), recorded.exists(), store.score_store.waiting("otlp"))
    store.maintain(retention_days=1e-9)
    assert ([], [], 0) == (store.sessions(), store.scores(), store.score_store.waiting("otlp"))
    assert [] == files_with(tmp_path, b"chat-")


def test_sessions_that_cannot_be_read_are_a_signal_of_their_release(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        for number, operation in ((1, "invoke_agent"), (2, "none"), (3, "none")):
            facts = {CONVERSATION: f"c{number}", "gen_ai.operation.name": operation, "harness.release": operation}
            served.post("/v1/traces", request(span(number, 1, attributes=facts)))
        told = score_sessions(served.store(), ScoringRequest(suite=load_suite(PROJECT, "basics"), settings=NOW))
        assert (1, 2) == (told.scored, told.unreadable)
        facts_of_day = DayFacts(served.store().score_store, "basics")
    (day,) = facts_of_day.days()
    rates = {(one.signal, one.group): one for one in daily_report(facts_of_day, "basics", tmp_path, day).rates}
    assert (2 / 3, 3) == (rates["unreadable", ""].share, rates["unreadable", ""].sessions)
    (cell,) = [one for one in facts_of_day.cells(OnlineSettings().watch.signals) if one[1:3] == ("unreadable", "")]
    assert (2, 3) == (cell.bad, cell.sessions)


@pytest.mark.slow
def test_what_is_not_there_yet_is_said(tmp_path: Path) -> None:
    (tmp_path / "suites").symlink_to(PROJECT / "suites")
    (tmp_path / "online.yaml").write_text("pause_s: 3600\n")
    with serving(tmp_path / "online") as served:
        served.post("/v1/traces", request(span(1, 1, attributes={"gen_ai.operation.name": "invoke_agent"})))
    assert "1 not complete yet" in harness("online", "score", "basics", project=tmp_path)
    (tmp_path / "online.yaml").write_text("pause_s: 0\n")
    told = harness_json("online", "score", "basics", project=tmp_path)
    assert (1, 0) == (told["rules"]["scored"], told["rules"]["within_pause"])
    report = harness_json("online", "report", "basics", project=tmp_path)
    said = harness("online", "report", "basics", "--day", "1999-01-01", status=2, project=tmp_path)
    assert report["day"] in said
