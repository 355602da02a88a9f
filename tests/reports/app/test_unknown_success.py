"""An agent that hides from its checks is not shown as one that always succeeds: each rate says what is unknown."""

import re
from html import unescape
from pathlib import Path

from harness.cli.view import app_pages
from harness.reports.pages.server import ViewServer
from tests.reports.app.client import entered
from tests.reports.html.runs import store


def _words(page: str) -> str:
    return re.sub(r"\s+(,?)", r"\1 ", unescape(re.sub(r"<[^>]+>", " ", page))).replace(",  ", ", ")


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
    assert "Regressed 1 1 of them succeeded before and cannot be determined now" in compared
    assert "unknown" not in known.split("any failed")[0]
    assert "2 passed, 0 failed" in known
