"""The page of an optimisation in a browser: curve, tree and difference are drawn, and nothing in it acts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.improve.candidates import read_candidate
from harness.improve.lineage import read_records
from harness.improve.report import optimisation_page
from harness.improve.rollouts import PromptRule, RuledRollouts
from tests.optimise.planted import Rules, optimisation
from tests.report_html.browser import Browser

pytestmark = pytest.mark.slow

GOOD = PromptRule(text="Never <b>exceed</b> the asked quantity.", gain=0.6)
AUDIT = (Path(__file__).parents[1] / "report_html/audit.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as own:
        yield own


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, int]:
    """The page, the number of candidates, and the number of points on all curves."""
    folder = tmp_path_factory.mktemp("drawn")
    rollouts = RuledRollouts(rules=[GOOD], start={"quality": 0.2, "safety": 1.0})
    outcome = optimisation(rollouts, Rules(rules=["Be nice."]), folder=folder).run()
    assert outcome.accepted is not None
    records = read_records(folder)
    start, accepted = (read_candidate(folder / "candidates" / one) for one in (outcome.start, outcome.accepted))
    page = folder / "page.html"
    page.write_text(optimisation_page(outcome, records, start, accepted), encoding="utf-8")
    points = sum((one.held_out is not None) + 1 for result in outcome.results for one in result.curve)
    return page, len(records), points


def test_curve_tree_and_difference_are_drawn(browser: Browser, drawn: tuple[Path, int, int]) -> None:
    page, candidates, points = drawn
    browser.load(page)
    assert ([page.as_uri()], []) == (browser.requests, browser.complaints)
    tree = "document.querySelector('svg[aria-label^=Candidates]')"
    assert candidates == browser.run(f"{tree}.querySelectorAll('circle').length")
    assert candidates - 1 == browser.run(f"{tree}.querySelectorAll('path').length")
    assert points == browser.run("document.querySelectorAll('svg[aria-label^=Best] circle').length")
    assert browser.run("[...document.querySelectorAll('svg')].every(one => one.getBoundingClientRect().height > 20)")
    added = browser.run("[...document.querySelectorAll('.add')].map(one => one.textContent)")
    assert f"+{GOOD.text}" in added
    assert 0 == browser.run("document.querySelectorAll('b').length")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_everything_has_a_name_and_can_be_read(browser: Browser, drawn: tuple[Path, int, int], dark: bool) -> None:
    browser.load(drawn[0], dark=dark)
    assert {"unnamed": [], "faint": [], "twice": []} == browser.run(AUDIT)
