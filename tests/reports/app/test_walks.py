"""Four kinds of users walk through the app in Chromium, and their clicks are counted."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.cli.view import app_pages
from harness.judging.labels import label_path, pair_label_path
from harness.reports.pages.server import ViewServer
from tests.judging.labelling import RUBRIC
from tests.reports.app.whole_project import fill
from tests.reports.html.browser import Browser
from tests.reports.html.runs import store

pytestmark = pytest.mark.slow

SESSIONS = 20
LABELLED_S, LABEL_S = 180, 0.2
_READY = "document.documentElement.dataset.ready"
_SHOWN = "document.body.innerText.includes({0})"
_IN_SIGHT = "document.querySelector({0}).getBoundingClientRect().bottom <= innerHeight"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = fill(tmp_path_factory.mktemp("walked"))
    store(folder / "runs", "twenty", trials=SESSIONS, created="2025-12-01T12:00:00Z")
    store(folder / "runs", "boiled", trials=3, said="a boiled egg", created="2025-12-02T12:00:00Z")
    return folder


@pytest.fixture(scope="module")
def server(project: Path) -> Iterator[ViewServer]:
    with ViewServer(project, app_pages()) as own:
        yield own


@dataclass
class Walk:
    """Somebody who sees the page and clicks on what it shows."""

    browser: Browser
    clicks: int = 0

    def click(self, selector: str, text: str = "", *, leads: bool = True) -> None:
        """On the first element in sight that has the text; `leads`: to another page."""
        wanted = f"[...document.querySelectorAll({json.dumps(selector)})].find((one) => one.checkVisibility()"
        wanted += f" && one.textContent.includes({json.dumps(text)}))"
        self.browser.until(wanted)
        self.browser.run(f"delete document.documentElement.dataset.ready, ({wanted}).click()")
        self.clicks += 1
        if leads:
            self.browser.until(_READY)

    def sees(self, *words: str) -> bool:
        return all(self.browser.run(_SHOWN.format(json.dumps(one))) for one in words)

    def needs_no_scrolling_to(self, selector: str) -> bool:
        return bool(self.browser.run(_IN_SIGHT.format(json.dumps(selector))))


@pytest.fixture
def walk(browser: Browser, server: ViewServer) -> Iterator[Walk]:
    browser.visit(server.another_link())
    yield Walk(browser)
    assert [] == browser.complaints


def test_an_engineer_is_two_clicks_from_the_runs_at_the_cause_of_a_failure(walk: Walk) -> None:
    walk.click('a[href="/runs/after?result=failed"]')
    walk.click("tbody th a")
    assert 2 == walk.clicks
    assert walk.sees("✗ failed", "reason: an egg", "Most probable cause")
    assert walk.needs_no_scrolling_to("#checks")
    assert walk.needs_no_scrolling_to(".cause")


def test_a_team_lead_ticks_two_runs_and_reads_the_verdict_first(walk: Walk) -> None:
    for run in ("after", "before"):
        walk.click(f'input[value="{run}"]', leads=False)
    walk.click(".ticked > button")
    assert 3 == walk.clicks
    assert walk.sees("before before, after after", "Regressed", "Fixed")
    assert walk.needs_no_scrolling_to(".notice")


def test_an_annotator_labels_twenty_sessions_by_one_key_an_answer(
    walk: Walk, server: ViewServer, project: Path
) -> None:
    browser = walk.browser
    browser.visit(f"{server.address}/annotate?run=twenty&rubric={RUBRIC.name}")
    browser.run("document.querySelector('[name=as]').value = 'ann'")
    walk.click("form.act button")
    walk.click("a", "Next open")
    questions = len(RUBRIC.criteria) * SESSIONS
    took = []
    for done in range(1, questions + 1):
        began = time.monotonic()
        browser.press("pf"[done % 2])
        browser.until(_SHOWN.format(f"'{done} of {questions} answered'") + f" && {_READY}")
        took.append(time.monotonic() - began)
    assert 2 == walk.clicks
    assert sum(took) < LABELLED_S
    assert sorted(took)[questions // 10] < LABEL_S, "other programs slow down most of them"
    assert questions == len(label_path(project, "s", RUBRIC.name).read_text().splitlines())


def test_an_annotator_compares_two_runs_blind_by_keys(walk: Walk, server: ViewServer, project: Path) -> None:
    browser = walk.browser
    browser.visit(f"{server.address}/annotate?run=twenty&rubric={RUBRIC.name}")
    form = 'form[action^="/blind/"]'
    browser.run(f"document.querySelector('{form} [name=as]').value = 'ann'")
    browser.run(f"document.querySelector('{form} [name=with]').value = 'boiled'")
    walk.click(f"{form} button")
    for done, key in enumerate("abt", 1):
        assert walk.sees("Which of the two meets it better?", "an egg", "a boiled egg")
        assert [] == browser.violations()
        browser.run("delete document.documentElement.dataset.ready")
        browser.press(key)
        browser.until(_SHOWN.format(f"'{done} compared'") + f" && {_READY}")
    assert walk.sees("There is nothing left to compare.", "no preference")
    assert ["A", "B", "tie"] == [
        json.loads(line)["better"] for line in pair_label_path(project, "s", RUBRIC.name).read_text().splitlines()
    ]


def test_somebody_on_call_is_two_clicks_from_the_themes_at_a_session(walk: Walk, server: ViewServer) -> None:
    walk.browser.visit(server.address + "/themes")
    walk.click("tbody th a")
    walk.click("main ul a")
    assert 2 == walk.clicks
    assert "/production/sessions/" in walk.browser.run("location.pathname")
    assert walk.sees("Timeline")
