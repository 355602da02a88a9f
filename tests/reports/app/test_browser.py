"""The app in Chromium: every page that a link leads to, in three sizes and both colour schemes; keys; hostile texts."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli.view import app_pages
from harness.reports.pages.server import ViewServer
from harness.runs.store.beside_trials import shown_in_flight
from harness.runs.store.folder import RunFolder
from harness.traces.recorder import TraceRecorder, TraceSubject
from tests.reports.app.whole_project import fill
from tests.reports.html.browser import Browser
from tests.reports.html.runs import manifest

pytestmark = pytest.mark.slow

_AUDIT = (Path(__file__).parents[1] / "html" / "audit.js").read_text(encoding="utf-8")
_LINKS = "[...document.querySelectorAll('a[href]')].map(one => one.getAttribute('href')).filter(one => one[0] === '/')"
_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_MOST_OF_A_KIND = 2
RUNS = ("after", "before", "other", "hostile", "mock", "live", "replay")
SIZES = {"desk": (1280, 900), "tablet": (820, 1180), "phone": (390, 800)}


def kind(path: str) -> str:
    """The path without what names one run, case or trial, with the names of what is asked."""
    path, _, query = path.partition("?")
    own = (*RUNS, "drive_thru", "counter", "complete", "polite", r"order-[a-z]+-\d+", r"case-\d+", r"\d+")
    names = "|".join((*own, r"default%3A\w+", "[0-9a-f]{12}"))
    asked = "&".join(sorted({one.partition("=")[0] for one in query.split("&") if one} - {"sort"}))
    return re.sub(rf"(?<=/)({names})(?=/|$)", "*", path.partition("#")[0]) + (f"?{asked}" if asked else "")


IN_FORMS = (
    "/compare?before=before&after=after",
    "/annotate/after/counter?as=ann",
    "/annotate/after/counter?as=cem&role=adjudicator",
)
"""What is chosen in a form, and so no link leads to."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ViewServer]:
    with ViewServer(fill(tmp_path_factory.mktemp("whole")), app_pages()) as own:
        yield own


@pytest.fixture(scope="module")
def walked(browser: Browser, server: ViewServer) -> dict[str, str]:
    """Kind of page -> one path of it: all that links lead to from the first page, a few of each kind."""
    browser.visit(server.another_link())
    found: dict[str, list[str]] = {}
    waiting = ["/", *IN_FORMS]
    while waiting:
        path = waiting.pop(0)
        own = found.setdefault(kind(path), [])
        if path in own or len(own) >= _MOST_OF_A_KIND:
            continue
        own.append(path)
        browser.visit(server.address + path)
        assert [] == browser.complaints, path
        waiting += browser.run(_LINKS)
    return {name: paths[-1] for name, paths in found.items()}


def test_links_lead_to_all_pages(walked: dict[str, str]) -> None:
    expected = {"/", "/trend", "/drift", "/cassettes", "/forks", "/optimisations", "/themes", "/production"}
    expected |= {"/runs/*", "/runs/*/trials/*/*", "/compare?after&before", "/annotate", "/annotate?rubric&run"}
    expected |= {"/annotate/*/*?as", "/annotate/*/*/*/*?as"}
    expected |= {"/themes/*", "/themes?run", "/production/sessions/*", "/production/days/shop"}
    expected |= {"/misses", "/cassettes/*", "/cassettes/*/*"}
    assert expected <= set(walked), expected - set(walked)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_page_can_be_read(
    browser: Browser, server: ViewServer, walked: dict[str, str], size: str, dark: bool
) -> None:
    width, height = SIZES[size]
    for path in walked.values():
        browser.visit(server.address + path, width=width, height=height, dark=dark)
        found: dict[str, Any] = browser.run(_AUDIT)
        assert {"unnamed": [], "faint": [], "twice": []} == found, path
        assert browser.run(_OVERFLOW) <= 0, path
        assert [] == browser.complaints, path
        if size == "desk":
            assert [] == browser.violations(), path


def test_keys_lead_through_runs_and_trials(browser: Browser, server: ViewServer, walked: dict[str, str]) -> None:
    del walked
    browser.visit(server.address + "/")
    browser.press("?")
    assert browser.run("document.getElementById('help').open")
    browser.press("?")
    browser.press("j", "Enter")
    browser.until("location.pathname.startsWith('/runs/') && document.documentElement.dataset.ready")
    browser.press("j", "Enter")
    browser.until("location.pathname.includes('/trials/') && document.documentElement.dataset.ready")
    first = browser.run("location.pathname")
    browser.press("n")
    browser.until(f"location.pathname !== {first!r} && document.documentElement.dataset.ready")
    browser.press("g", "p")
    browser.until("location.pathname === '/production'")


def test_what_an_agent_wrote_stays_text(browser: Browser, server: ViewServer, walked: dict[str, str]) -> None:
    del walked
    browser.visit(server.address + "/runs/hostile/trials/case-0000/1")
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert browser.run("document.body.innerText.includes('<script>')")
    assert not browser.run("Boolean(window.hacked || document.querySelector('main script, main iframe, main object'))")
    assert [] == browser.complaints
    assert all(url.startswith(server.address) or url == "about:blank" for url in browser.requests)


def test_two_people_label_by_keys_and_a_third_decides(browser: Browser, server: ViewServer) -> None:
    browser.visit(server.another_link())
    for name, keys in (("ann", "pf"), ("ben", "ff")):
        browser.visit(f"{server.address}/annotate/before/counter/case-0001/1?as={name}")
        for key, answered in zip(keys, (1, 2), strict=True):
            browser.press(key)
            browser.until(
                f"document.body.innerText.includes('{answered} of ') && document.documentElement.dataset.ready"
            )
        browser.until("location.pathname !== '/annotate/before/counter/case-0001/1'")
    browser.visit(server.address + "/annotate/before/counter?as=cem&role=adjudicator")
    browser.press("o")
    browser.until("location.pathname.endsWith('/1') && document.querySelector('form.answers:focus')")
    assert browser.run("document.body.innerText.includes('A: pass') && document.body.innerText.includes('B: fail')")
    assert not browser.run("/\\b(ann|ben)\\b/.test(document.querySelector('main').innerText)")
    browser.press("c", "p")
    assert "p" == browser.run("document.querySelector('[name=note]').value"), "typing answers nothing"
    browser.visit(browser.run("location.href"))
    assert "p" == browser.run("document.querySelector('[name=note]').value"), "a draft is kept"
    browser.press("f")
    browser.until("document.body.innerText.includes('1 of 1 answered') && document.documentElement.dataset.ready")
    assert [] == browser.complaints


def test_a_call_shows_the_recording_that_answered_it(browser: Browser, server: ViewServer) -> None:
    browser.visit(server.another_link())
    browser.visit(server.address + "/misses")
    browser.run("document.querySelector('td:last-child a').click()")
    browser.until("location.pathname.includes('/trials/') && document.documentElement.dataset.ready")
    browser.run("document.querySelector('.call [data-load]').click()")
    browser.until("document.querySelector('.call .loaded a')")
    browser.run("document.querySelector('.call .loaded a').click()")
    browser.until("location.pathname.startsWith('/cassettes/') && document.querySelector('.step:target')")
    assert [] == browser.complaints


def test_a_run_in_flight_is_followed_step_by_step(browser: Browser, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    recorder = TraceRecorder(TraceSubject(trial_id="r.c.1", case_id="case-0000", attempt=1, agent="a"))
    with (
        ViewServer(tmp_path, app_pages()) as own,
        RunFolder.create(runs, manifest([("case-0000", 1)], "now")) as folder,
    ):
        browser.visit(own.another_link())
        browser.visit(own.address + "/runs/now")
        with shown_in_flight(folder.path, lambda: [recorder.progress]):
            recorder.record("execute_tool <img src=x onerror=alert(1)>", {}, time.monotonic_ns())
            browser.until("document.querySelector('[data-live=trials] li')?.textContent.includes('1 step, last <img')")
        assert 0 == browser.run("document.querySelectorAll('main img').length")
        for width, height in SIZES.values():
            browser.visit(own.address + "/runs/now", width=width, height=height)
            assert {"unnamed": [], "faint": [], "twice": []} == browser.run(_AUDIT)
        assert [] == browser.complaints
