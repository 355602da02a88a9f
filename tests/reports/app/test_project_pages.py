"""Pages over a project: trend, drift, recordings, forks, optimisations."""

import re
import shutil
from pathlib import Path

import httpx
import pytest

from harness.cli.view import app_pages
from harness.reports.pages.server import ViewServer
from tests.reports.app.client import entered
from tests.reports.html.runs import HOSTILE, mocked_and_live, store

ROOT = Path(__file__).parents[3]
PAGES = ("/", "/compare", "/trend", "/drift", "/cassettes", "/forks", "/optimisations")


def test_every_page_of_the_navigation_opens_with_and_without_content(client: httpx.Client, tmp_path: Path) -> None:
    for path in PAGES:
        assert 200 == client.get(path).status_code, path
        places = re.search(r'<nav aria-label="Places">.*?</nav>', client.get(path).text, re.DOTALL)
        assert places is not None
        assert ["Runs", "Compare", "Trust", "Production", "Improve"] == re.findall(r">(\w+)</a>", places[0])
        assert 1 == places[0].count("aria-current"), path
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as empty:
        for path in PAGES:
            answer = empty.get(path)
            assert (200, True) == (answer.status_code, "<code>" in answer.text), f"{path} does not say what to type"


def test_the_trend_shows_a_suite_by_release(client: httpx.Client, tmp_path: Path) -> None:
    text = client.get("/trend?suite=s").text
    assert "task success" in text
    assert "<svg" not in text, "no agent has two releases"
    for month in (1, 2):
        store(tmp_path / "runs", f"r{month}", failing=range(month), created=f"2026-0{month}-01T00:00:00Z")
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as own:
        assert 'role="img" aria-label="r1: 83 %; r2: 67 %"' in own.get("/trend").text
    assert 404 == client.get("/trend?suite=none").status_code


def test_drift_is_shown_with_the_answers_before_and_after(tmp_path: Path) -> None:
    mocked_and_live(tmp_path / "runs")
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        text = client.get("/drift").text
    for words in ("breaking", "look_up $.price", "number → absent", "case-0001"):
        assert words in text, words


def test_recordings_are_shown_by_suite_and_case(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "cassettes" / "drive_thru", tmp_path / "cassettes" / "drive_thru")
    case = sorted((tmp_path / "cassettes" / "drive_thru").iterdir())[0].stem
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        assert "/cassettes/drive_thru" in client.get("/cassettes").text
        assert f"/cassettes/drive_thru/{case}" in client.get("/cassettes/drive_thru").text
        assert "recordings, written 2" in client.get(f"/cassettes/drive_thru/{case}").text
        assert 404 == client.get("/cassettes/drive_thru/none").status_code
        assert 404 == client.get("/cassettes/..%2f..").status_code


@pytest.mark.parametrize("name", ["%2e%2e", "after", "none", "..%2fruns"])
def test_what_is_no_optimisation_is_not_shown_as_one(client: httpx.Client, name: str) -> None:
    assert 404 == client.get(f"/optimisations/{name}").status_code


def test_a_fork_leads_to_its_parent_and_stands_beside_it(tmp_path: Path) -> None:
    store(tmp_path / "runs", "tour", trials=1)
    variants = [
        {"case_id": "case-0000", "attempt": 1, "variant": {"parent": parent}}
        for parent in ("tour/case-0000/1", f"../{HOSTILE[:20]}/x")
    ]
    store(tmp_path / "runs" / ".variants", "fork", trials=1, variants=variants)
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        text = client.get("/forks").text
        assert 'href="/runs/tour/trials/case-0000/1"' in text
        side = text.partition('href="/compare/tour/')[2].partition('"')[0]
        assert 200 == client.get(f"/compare/tour/{side}").status_code
    assert "<script>" not in text.partition("<main")[2]
