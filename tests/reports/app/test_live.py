"""A run in flight: followed by events, and stopped on request."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from harness.cli.view import app_pages
from harness.errors import ResultsError
from harness.reports.pages.run_index import RunIndex
from harness.reports.pages.server import ViewServer
from harness.runs.store.beside_trials import stop_requested
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import Scoring
from tests.reports.app.client import entered
from tests.reports.html.runs import card, manifest, store, trial


def _commit(folder: RunFolder, case: str, *, success: bool) -> None:
    folder.commit(trial(case, 1, "an egg", {}), (), card(case, 1, success=success, said="an egg"))


def _states(client: httpx.Client, act: dict[int, Callable[[], object]]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    with client.stream("GET", "/live/now", timeout=20) as events:
        assert "text/event-stream" == events.headers["content-type"]
        for line in events.iter_lines():
            if line.startswith("event: end"):
                return found
            if line.startswith("data: "):
                found.append(json.loads(line.removeprefix("data: ")))
                if (then := act.get(len(found))) is not None:
                    then()
    return found


def test_the_figures_follow_the_run_until_it_ends(tmp_path: Path) -> None:
    keys = [("case-0000", 1), ("case-0001", 1)]
    folder = RunFolder.create(tmp_path / "runs", manifest(keys, "now"))
    _commit(folder, "case-0000", success=True)
    with ViewServer(tmp_path, app_pages()) as server, entered(server) as client:
        page = client.get("/runs/now").text
        assert 'data-events="/live/now"' in page
        assert "1 of 2" in page

        def end() -> None:
            _commit(folder, "case-0001", success=False)
            folder.close()

        states = _states(client, {1: end})
    assert (1, 2, True) == (states[0]["done"], states[0]["planned"], states[0]["running"])
    assert (2, "50 %", False) == (states[-1]["done"], states[-1]["rate"], states[-1]["running"])


def test_a_stop_is_asked_of_a_run_in_flight_only(tmp_path: Path) -> None:
    store(tmp_path / "runs", "over", trials=1)
    with (
        RunFolder.create(tmp_path / "runs", manifest([("case-0000", 1)], "now")) as folder,
        ViewServer(tmp_path, app_pages()) as server,
        entered(server) as client,
    ):
        assert 409 == client.post("/runs/over/stop").status_code
        assert not stop_requested(folder)
        assert 200 == client.post("/runs/now/stop").status_code
        assert stop_requested(folder)


def test_a_reader_that_leaves_harms_nothing(tmp_path: Path) -> None:
    with (
        RunFolder.create(tmp_path / "runs", manifest([("case-0000", 1)], "now")),
        ViewServer(tmp_path, app_pages()) as server,
        entered(server) as client,
    ):
        for _ in range(5):
            with client.stream("GET", "/live/now") as events:
                next(events.iter_lines())
        assert 200 == client.get("/").status_code


def test_of_a_run_in_flight_a_trial_that_is_run_again_and_later_scores_are_seen(tmp_path: Path) -> None:
    keys = [("case-0000", 1), ("case-0001", 1)]
    failed = card("case-0000", 1, success=True, said="x").model_copy(
        update={"outcome": "harness_failed", "success": None}
    )
    index = RunIndex(tmp_path / "runs")
    with RunFolder.create(tmp_path / "runs", manifest(keys, "now")) as folder:
        broken = trial("case-0000", 1, "x", {}).model_copy(update={"outcome": "harness_failed"})
        folder.commit(broken, (), failed)
        assert (0, 1) == (index.figures("now").succeeded, index.figures("now").done)
        _commit(folder, "case-0000", success=True)
        assert (1, 1) == (index.figures("now").succeeded, index.figures("now").done)
        _commit(folder, "case-0001", success=True)
        assert ["case-0000", "case-0001"] == [one.case_id for one in index.lines("now")]
        scoring = Scoring(harness_version="0.1.0", suite_digest="d2", scorer_versions={})
        worse = [card(case, 1, success=False, said="x") for case, _ in keys]
        folder.write_scorecards(worse, scoring)
    assert (0, 2) == (index.figures("now").succeeded, index.figures("now").failed)


def test_a_link_in_the_place_of_a_new_trial_is_not_followed(tmp_path: Path) -> None:
    elsewhere = store(tmp_path / "other", "away", trials=2).path / "trials" / "case-0001"
    index = RunIndex(tmp_path / "runs")
    with RunFolder.create(tmp_path / "runs", manifest([("case-0000", 1), ("case-0001", 1)], "now")) as folder:
        _commit(folder, "case-0000", success=True)
        assert 1 == index.figures("now").done
        (folder.path / "trials" / "case-0001").symlink_to(elsewhere)
        with pytest.raises(ResultsError, match="a link"):
            index.figures("now")
