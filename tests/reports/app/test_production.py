"""Pages of production and of themes, over a store that a real receiver fills."""

import re
from html import unescape
from pathlib import Path

import httpx
import pytest

from harness.cli.view import app_pages
from harness.production.scores import SessionSampling, SessionScore
from harness.production.store import SessionStore
from harness.reports.pages.server import ViewServer
from harness.runs.store.folder import RunFolder
from harness.scoring.scorecard import Diagnosis
from tests.production.receiving import request, serving, span
from tests.production.shapes import genai
from tests.production.themes.conftest import CARD, Shop
from tests.production.themes.test_runs import failed_run
from tests.reports.app.client import entered
from tests.reports.html.runs import HOSTILE, store

SENT = HOSTILE.encode("utf-8", "replace").decode()
"""A receiver passes nothing on that is not UTF-8."""


def _send(project: Path, session: str, said: str) -> None:
    history = [{"role": "user", "content": said}]
    reply = {"role": "assistant", "content": f"I heard {said}"}
    facts = {**genai(history, reply), "gen_ai.conversation.id": session}
    with serving(project / "online") as served:
        one = request(span(len(session), 1, attributes=facts), resource={"service.version": "2.4"})
        assert 200 == served.post("/v1/traces", one).status


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("production")
    _send(folder, "good", "hello")
    _send(folder, "hostile", SENT)
    own = SessionStore.open(folder / "online")
    rows = {row.key.partition(":")[2]: row for row in own.sessions()}
    found = Diagnosis(
        failure="loop_trap", kind="repeated_call", origin_step=1, evidence=SENT, confidence=0.9, version="1"
    )
    row = rows["hostile"]
    score = SessionScore(
        session=row.key, digest=row.digest, kind="rules", scorer="s", scored_at="2026-01-01T13:00:00", suite="shop",
        source=row.source, release="2.4", received_ns=row.received_last_ns,
        sampling=SessionSampling(rule="all", rate=1.0, in_base=True),
        card=CARD.model_copy(update={"success": False, "diagnoses": (found,)}),
    )  # fmt: skip
    own.score_store.add([score])
    return folder


def test_a_project_without_production_says_how_to_begin(tmp_path: Path) -> None:
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        assert "harness ingest serve" in client.get("/production").text
        assert "harness ingest serve" in client.get("/themes").text
        assert 404 == client.get("/production/sessions/none").status_code
        assert 404 == client.get("/themes/0123456789ab").status_code


def test_sessions_are_listed_with_what_failed(project: Path) -> None:
    with ViewServer(project, app_pages()) as server, entered(server) as client:
        text = client.get("/production").text
        assert 2 == text.count('data-href="/production/sessions/')
        assert 1 == text.count('<span class="chip bad">failed</span>')
        assert "/production/days/shop" in text
        assert "No session fits" in client.get("/production?release=9").text
        assert "any failure mode" in client.get("/production/days/shop").text.replace("_", " ")


def test_every_figure_leads_on_to_its_sessions_and_a_session_to_its_themes(project: Path) -> None:
    with ViewServer(project, app_pages()) as server, entered(server) as client:
        day = client.get("/production/days/shop").text
        figures = [unescape(one) for one in re.findall(r'href="(/production\?[^"]*signal=any_failure_mode[^"]*)"', day)]
        assert figures
        for path in (figures[0], "/production?result=failed"):
            listed = client.get(path).text
            (session,) = re.findall(r'data-href="(/production/sessions/[^"]*)"', listed)
            assert "hostile" in session
        (themes,) = re.findall(r'href="(/themes\?[^"]*session=[^"]*)"', client.get(session).text)
        assert 1 == client.get(unescape(themes)).text.count('data-href="/themes/')
        assert 0 == client.get("/themes?days=all&session=none").text.count('data-href="/themes/')


def test_a_session_is_shown_as_a_trial_is(project: Path) -> None:
    with ViewServer(project, app_pages()) as server, entered(server) as client:
        text = client.get("/production/sessions/default%3Agood").text
        assert 'id="step-0"' in text
        assert "I heard hello" in text
        assert "not scored" in text
        assert "I heard hello" in client.get("/production/sessions/good/steps/1").text
        assert "gen_ai.input.messages" in client.get("/production/sessions/good/requests/1").text
        assert 404 == client.get("/production/sessions/good/steps/9").status_code


def test_what_a_session_holds_stays_text(project: Path) -> None:
    with ViewServer(project, app_pages()) as server, entered(server) as client:
        for path in ("/production/sessions/hostile", "/themes", "/production", "/production/days/shop"):
            text = client.get(path).text
            assert "<img src=x" not in text, path
            assert not set("\x00\x1b\x7f\u202e\u2066") & set(text), path
        assert "&lt;img src=x" in client.get("/production/sessions/hostile").text


def test_themes_of_production_lead_to_their_sessions(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.score(reason="The shop is closed", times=3)
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        assert "No failure" in client.get("/themes").text, "they are older than a week"
        listed = client.get("/themes?days=all")
        path = _first_theme(listed)
        shown = client.get(path).text
    assert 3 == shown.count('href="/production/sessions/default%3As') - shown.count("<q>")


def test_themes_of_a_run_lead_to_its_trials(tmp_path: Path) -> None:
    failed_run(tmp_path / "runs", "r", "2026-11-01T00:00:00Z", "The shop is closed", passed=2)
    store(tmp_path / "runs", "tour", trials=3)
    assert RunFolder.open(tmp_path / "runs" / "tour")
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        assert 'href="/themes?run=r"' in client.get("/runs/r").text
        shown = client.get(_first_theme(client.get("/themes?run=r"))).text
        assert 'href="/runs/r/trials/one/1"' in shown
        assert 404 == client.get("/themes?run=none").status_code


def _first_theme(listed: httpx.Response) -> str:
    path = listed.text.partition('<tr data-href="')[2].partition('"')[0]
    assert path.startswith("/themes/"), listed.text
    return path.replace("&amp;", "&")


def test_a_damaged_store_is_reported_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "online").mkdir()
    (tmp_path / "online" / "store.db").write_text("{" * 5000)
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        answer = client.get("/production")
        assert (409, True) == (answer.status_code, "store.db" in answer.text)
        assert 200 == client.get("/").status_code
