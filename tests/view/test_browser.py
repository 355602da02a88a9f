"""The app in Chromium: every page that a link leads to, in three sizes and both colour schemes; keys; hostile texts."""

import re
from pathlib import Path
from typing import Any

import pytest

from harness.view import ViewServer
from tests.report_html.browser import Browser

pytestmark = pytest.mark.slow

_AUDIT = (Path(__file__).parents[1] / "report_html" / "audit.js").read_text(encoding="utf-8")
_LINKS = "[...document.querySelectorAll('a[href]')].map(one => one.getAttribute('href')).filter(one => one[0] === '/')"
_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_MOST_OF_A_KIND = 2
SIZES = {"desk": (1280, 900), "tablet": (820, 1180), "phone": (390, 800)}


def kind(path: str) -> str:
    """The path without what names one run, case or trial."""
    return re.sub(r"(?<=/)(after|before|other|hostile|case-\d+|\d+)(?=/|$)", "*", path.partition("?")[0])


@pytest.fixture(scope="module")
def walked(browser: Browser, server: ViewServer) -> dict[str, str]:
    """Kind of page -> one path of it: all that links lead to from the first page, a few of each kind."""
    browser.visit(server.another_link())
    found: dict[str, list[str]] = {}
    waiting = ["/", "/compare?before=before&after=after"]  # two runs are chosen in a form
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
    expected = {"/", "/trend", "/drift", "/issues", "/cassettes", "/forks", "/optimisations"}
    assert expected | {"/runs/*", "/runs/*/trials/*/*", "/compare"} <= set(walked), walked


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
    browser.press("g", "c")
    browser.until("location.pathname === '/cassettes'")


def test_what_an_agent_wrote_stays_text(browser: Browser, server: ViewServer, walked: dict[str, str]) -> None:
    del walked
    browser.visit(server.address + "/runs/hostile/trials/case-0000/1")
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert browser.run("document.body.innerText.includes('<script>')")
    assert not browser.run("Boolean(window.hacked || document.querySelector('main script, main iframe, main object'))")
    assert [] == browser.complaints
    assert all(url.startswith(server.address) or url == "about:blank" for url in browser.requests)
