"""An agent that hides from its checks is not shown as one that always succeeds: each rate says what is unknown."""

import re
from html import unescape
from pathlib import Path

import pytest

from harness.cli.view import app_pages
from harness.reports.html.page import write_html
from harness.reports.pages.server import ViewServer
from tests.reports.app.client import entered
from tests.reports.html.browser import Browser
from tests.reports.html.runs import store


def _words(page: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))


def test_the_app_shows_what_is_unknown_beside_each_rate(tmp_path: Path) -> None:
    store(tmp_path / "runs", "before", trials=2, failing=())
    store(tmp_path / "runs", "hiding", trials=2, failing=(), undecided=(1,), agent="v0")
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        listed = {row: _words(client.get(f"/part/figures/{row}").text) for row in ("before", "hiding")}
        every = _words(client.get("/").text)
        run = _words(client.get("/runs/hiding").text)
        compared = _words(client.get("/compare?before=before&after=hiding").text)
        known = _words(client.get("/runs/before").text)

    assert "100 % (unknown for 1 of 2)" in every + listed["hiding"]
    assert "100 % (unknown for 1 of 2)" in run
    assert "1 passed, 0 failed, 1 unknown" in run
    assert "1 succeeded before and cannot be determined now" in compared
    assert "unknown" not in known.split("any failed")[0]
    assert "2 passed, 0 failed" in known


@pytest.mark.slow
def test_the_html_report_shows_what_is_unknown_beside_each_rate(browser: Browser, tmp_path: Path) -> None:
    known = store(tmp_path / "runs", "before", trials=2, failing=())
    hiding = store(tmp_path / "runs", "hiding", trials=2, failing=(), undecided=(1,), agent="v0")
    shown = {}
    for run in (hiding, known):
        browser.look(write_html(run, tmp_path / f"{run.manifest.run}.html"))
        shown[run.manifest.run] = browser.run("document.getElementById('tiles').innerText")

    assert "1 of 1, 21 % to 100 %, unknown for 1 of 2" in shown["hiding"]
    assert "1/2" in shown["hiding"]
    assert "1 undecided by their checks" in shown["hiding"]
    assert "unknown for 1 of 2" in browser.run("document.body.innerHTML")  # in the list of runs
    assert ("2/2", False) == ("2/2" if "2/2" in shown["before"] else "", "unknown" in shown["before"])
