"""What leaves: to the named host only, whatever is damaged; and what is forgotten is forgotten there too."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.production.days import DayFacts
from harness.production.score_store import ScoreOutbox
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


def scored(served: Served, folder: Path, *, sessions: int = 2) -> ScoreOutbox:
    """Sessions in the store, scored, with their scores waiting in batches of one."""
    for number in range(1, sessions + 1):
        facts = {CONVERSATION: f"chat-{number}", "gen_ai.operation.name": "invoke_agent"}
        served.post("/v1/traces", request(span(number, 1, attributes=facts)))
    sent: list[SessionScore] = []
    outbox = ScoreOutbox(folder, lambda scores: sent.extend(scores) or len(scores))
    suite = load_suite(PROJECT, "basics")
    for _ in range(sessions):
        score_sessions(served.store(), ScoringRequest(suite=suite, settings=NOW, limit=1, outbox=outbox))
    assert sessions == outbox.waiting
    return outbox


@pytest.mark.parametrize("status", [302, 307])
def test_no_redirect_is_followed_with_credentials(
    status: int, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = scored(served, tmp_path / "scores", sessions=1)
    (score,) = served.store().scores()
    assert outbox.waiting
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer secret")
    with answering(200) as (other, reached), answering(status, f"{other}/elsewhere") as (url, seen):
        with pytest.raises(HarnessError, match=f"HTTP {status}"):
            post_otlp(url, "/v1/logs", {}, "secret")
        with pytest.raises(HarnessError, match=f"HTTP {status}"):
            otlp_logs_sender(url)([score])
    assert (["Bearer secret"] * 2, []) == (seen, reached)


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b'[{"session": "x"}]', b"\xff"])
def test_a_damaged_file_is_named_and_kept_and_the_rest_is_sent(content: bytes, served: Served, tmp_path: Path) -> None:
    outbox, said = scored(served, tmp_path / "box"), list[str]()
    (tmp_path / "box" / "1-damaged.json").write_bytes(content)
    assert 2 == outbox.deliver(said.append)
    assert (0, 1) == (outbox.waiting, outbox.damaged)
    assert ["1-damaged.json.damaged"] == [path.name for path in (tmp_path / "box").iterdir()]
    assert all(name in said[0] for name in ("1-damaged.json: ", "1-damaged.json.damaged"))
    assert 0 == outbox.deliver(said.append)
    assert 1 == len(said)


def files_with(folder: Path, word: bytes) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and word in path.read_bytes())
    return sorted(str(path.relative_to(folder)) for path in found)


def test_a_deleted_session_waits_for_nobody(served: Served) -> None:
    outbox = scored(served, served.folder / "outbox" / "otlp")
    assert 1 == served.store().delete(session="chat-1")
    assert 1 == outbox.waiting
    assert [] == files_with(served.folder / "outbox", b"chat-1")
    assert files_with(served.folder / "outbox", b"chat-2")


def test_retention_drops_scores_recordings_and_what_waits(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        scored(served, tmp_path / "outbox" / "otlp")
        (row, _) = served.store().sessions()
    recorded = tmp_path / "judge" / "suite" / f"session-{row.id}.yaml"
    recorded.parent.mkdir(parents=True)
    recorded.write_text("asked: chat-1\n")
    store = SessionStore.open(tmp_path)
    store.maintain(retention_days=1)
    assert (2, True, 2) == (len(store.scores()), recorded.exists(), len(list((tmp_path / "outbox/otlp").iterdir())))
    store.maintain(retention_days=1e-9)
    assert ([], []) == (store.sessions(), store.scores())
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
