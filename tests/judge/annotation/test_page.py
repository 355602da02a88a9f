"""The page in a browser: by keys alone, on a phone, in the dark, and with evidence that means harm."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.judge.lab.annotation import AnnotationServer
from tests.judge.annotation_work import queue, work
from tests.report_html.browser import Browser

pytestmark = pytest.mark.slow

_HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
_SHOWN = "document.documentElement.dataset.shown"
_COUNT = "document.getElementById('count').textContent"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as own:
        yield own


def _opened(browser: Browser, url: str, *, width: int = 1100, height: int = 900, dark: bool = False) -> None:
    browser.send(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.send("Emulation.setEmulatedMedia", features=[scheme])
    browser.send("Page.navigate", url="about:blank")
    browser.until("location.href === 'about:blank'")
    browser.complaints.clear()
    browser.send("Page.navigate", url=url)
    browser.until("document.documentElement && document.documentElement.dataset.ready")


def _labels(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]


def _labelled(browser: Browser, folder: Path, name: str, keys: str, role: str = "annotator") -> None:
    with AnnotationServer(queue(folder, name, work("a", "b"), role=role)) as server:
        _opened(browser, server.url)
        for number, key in enumerate(keys, 1):
            browser.press(key)
            browser.until(f"{_COUNT}.startsWith('{number} of')")
        assert [] == browser.complaints


def test_two_people_label_by_keys_and_a_third_adjudicates(browser: Browser, tmp_path: Path) -> None:
    _labelled(browser, tmp_path, "ann", "pfpn")
    _labelled(browser, tmp_path, "ben", "pffn")
    _labelled(browser, tmp_path, "cem", "f", role="adjudicator")
    written = _labels(tmp_path)
    assert ["pass", "fail", "pass", "not_eligible"] == [one["answer"] for one in written if one["annotator"] == "ann"]
    decided = written[-1]
    assert ("cem", "adjudicator", "b", "complete", "fail") == (
        decided["annotator"],
        decided["role"],
        decided["case_id"],
        decided["criterion"],
        decided["answer"],
    )


def test_a_comment_goes_with_the_answer_and_an_answer_can_be_changed(browser: Browser, tmp_path: Path) -> None:
    with AnnotationServer(queue(tmp_path, "ann", work("a"))) as server:
        _opened(browser, server.url)
        browser.press("c", "p", "o", "f")
        assert "pof" == browser.run("document.getElementById('note').value")
        browser.press("Escape", "p")
        browser.until(f"{_SHOWN} === '1'")
        browser.press("k")
        browser.until(f"{_SHOWN} === '0'")
        assert "true" == browser.run("document.querySelector('[data-answer=pass]').getAttribute('aria-pressed')")
        browser.press("f")
        browser.until("document.querySelector('[data-answer=fail]').getAttribute('aria-pressed') === 'true'")
        browser.run("document.getElementById('finish').click()")
        browser.until("document.documentElement.dataset.finished")
        assert server.finished.wait(60)
    assert [("pass", "pof"), ("fail", "pof")] == [(one["answer"], one["note"]) for one in _labels(tmp_path)]
    assert [None, True] == [one.get("revises") for one in _labels(tmp_path)]


def test_it_goes_on_where_it_was_left(browser: Browser, tmp_path: Path) -> None:
    _labelled(browser, tmp_path, "ann", "pf")
    with AnnotationServer(queue(tmp_path, "ann", work("a", "b"))) as server:
        _opened(browser, server.url)
        assert ("2 of 4", "2") == (browser.run(_COUNT), browser.run(_SHOWN))


def test_a_key_that_does_not_apply_writes_nothing(browser: Browser, tmp_path: Path) -> None:
    with AnnotationServer(queue(tmp_path, "ann", work("a"))) as server:
        _opened(browser, server.url)
        assert browser.run("document.querySelector('[data-answer=not_eligible]').disabled")
        browser.press("n", "x", "u")
        browser.until(f"{_COUNT}.startsWith('1 of')")
    assert ["unsure"] == [one["answer"] for one in _labels(tmp_path)]


def test_an_answer_that_could_not_be_saved_is_said_and_not_counted(browser: Browser, tmp_path: Path) -> None:
    with AnnotationServer(queue(tmp_path, "ann", work("a"))) as server:
        _opened(browser, server.url)
    browser.press("p")
    browser.until("document.getElementById('alert').textContent.includes('NOT SAVED')")
    assert ("0 of 2", "0") == (browser.run(_COUNT), browser.run(_SHOWN))


def test_hostile_evidence_is_text_and_nothing_else(browser: Browser, tmp_path: Path) -> None:
    with AnnotationServer(queue(tmp_path, "ann", work("a", said=_HOSTILE))) as server:
        _opened(browser, server.url)
        assert "ann labels counter" == browser.run("document.title")
        assert _HOSTILE in browser.run("document.getElementById('pieces').textContent")
        assert 0 == browser.run("document.querySelectorAll('#pieces script, #pieces img').length")
        assert [] == browser.complaints


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [320, 390, 1100])
def test_it_fits_a_phone_and_can_be_read_in_the_dark(browser: Browser, tmp_path: Path, width: int, dark: bool) -> None:
    with AnnotationServer(queue(tmp_path, "ann", work("a", said="unbroken" * 60))) as server:
        _opened(browser, server.url, width=width, height=800, dark=dark)
        assert browser.run("document.documentElement.scrollWidth") <= width
        boxes = browser.run(
            "[...document.querySelectorAll('.buttons button')].map(b => b.getBoundingClientRect())"
            ".map(r => [r.height, r.bottom])"
        )
        assert all(height >= 44 and bottom <= 800 for height, bottom in boxes)
        contrasts = _contrasts(browser)
        assert len(contrasts) > 10
        assert [] == [pair for pair in contrasts if pair[1] < 4.5]


def _contrasts(browser: Browser) -> list[tuple[str, float]]:
    """Each kind of text with its contrast (WCAG 2) to the ground below it."""
    found = browser.run(
        """[...document.querySelectorAll('h1, h2, .facts span, .also, .said, .who span, button:enabled, #count')]
        .filter(one => one.offsetParent && one.textContent.trim()).map(one => {
          let ground = one;
          while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
          return [one.className || one.tagName, getComputedStyle(one).color, getComputedStyle(ground).backgroundColor];
        })"""
    )
    return [(name, _contrast(_rgb(ink), _rgb(ground))) for name, ink, ground in found]


def _rgb(colour: str) -> list[float]:
    return [float(part) / 255 for part in re.findall(r"[\d.]+", colour)[:3]]


def _contrast(one: list[float], other: list[float]) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: list[float]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_everything_has_a_name_for_those_who_hear_the_page(browser: Browser, tmp_path: Path) -> None:
    with AnnotationServer(queue(tmp_path, "ann", work("a"))) as server:
        _opened(browser, server.url)
        nodes = browser.send("Accessibility.getFullAXTree")["nodes"]
        controls = {"button", "textbox", "progressbar", "navigation", "form", "main"}
        roles = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if "role" in node]
        assert [] == [role for role, name in roles if role in controls - {"main"} and not name]
        assert ("heading", "The whole order was taken.") in roles
        browser.press("p")
        browser.until("document.getElementById('status').textContent.includes('Saved: pass')")
        assert "question" == browser.run("document.activeElement.id")
