"""The pages of a run as one file and as a folder: complete, without a program, and no danger to who opens them."""

import re
import subprocess
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from harness.errors import ResultsError
from harness.reports.pages.files import html_report, write_html, write_site
from harness.runs.store.baseline import baseline_of, write_baseline
from harness.runs.store.folder import RunFolder
from tests.cli.starting import run_command
from tests.reports.html.browser import Browser
from tests.reports.html.runs import HOSTILE, judge, store

_AUDIT = (Path(__file__).parents[1] / "html" / "audit.js").read_text(encoding="utf-8")


class Elements(HTMLParser):
    """Names of all elements in order, and all values of attributes by name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.values: dict[str, list[str]] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        for name, value in attrs:
            self.values.setdefault(name, []).append(value or "")


def two(root: Path) -> tuple[RunFolder, RunFolder]:
    before = store(root / "runs", "before", trials=6, failing=(0, 1), agent="v0", created="2026-01-30T12:00:00Z")
    return before, judge(store(root / "runs", "after", trials=6, said=HOSTILE, result={HOSTILE: [HOSTILE]}), HOSTILE)


def _report(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_command("report", *words, folder=project)


def test_one_file_has_every_page_and_runs_and_loads_nothing(tmp_path: Path) -> None:
    before, after = two(tmp_path)
    text = html_report(tmp_path, after, before)
    found = Elements(text)
    assert not {"script", "form", "button", "img", "iframe", "link", "object"} & set(found.names)
    assert not [name for name in found.values if name.startswith("on") or name in ("style", "src")]
    targets = {value.removeprefix("#") for value in found.values["href"]}
    assert targets <= set(found.values["id"]), targets - set(found.values["id"])
    assert len(found.values["id"]) == len(set(found.values["id"]))
    titles = set(found.values["aria-label"])
    assert {"after", "Comparison", *(f"case-{number:04d} / 1" for number in range(6))} <= titles
    assert "default-src 'none'; style-src 'sha256-" in found.values["content"][0]
    assert "unsafe" not in found.values["content"][0]
    calm = html_report(tmp_path, judge(store(tmp_path / "runs", "calm", trials=6)))
    assert set(Elements(calm).names) >= set(Elements(html_report(tmp_path, after)).names) - {"p"}


def test_a_site_has_no_dead_link_and_every_link_stays_inside(tmp_path: Path) -> None:
    before, after = two(tmp_path)
    start = write_site(tmp_path, after, tmp_path / "site", before)
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert start in pages
    assert {f"case-{number:04d}-1.html" for number in range(6)} <= {page.name for page in pages}
    for page in pages:
        found = Elements(page.read_text(encoding="utf-8"))
        assert not {"script", "form", "button"} & set(found.names), page
        for value in found.values["href"]:
            path, _, place = value.partition("#")
            target = page if not path else (page.parent / unquote(path)).resolve()
            assert target.is_file(), (page, value)
            assert target.is_relative_to(tmp_path / "site")
            if place:
                assert f'id="{place}"' in target.read_text(encoding="utf-8"), (page, value)


def test_a_site_is_written_over_an_earlier_one_and_over_nothing_else(tmp_path: Path) -> None:
    folder = store(tmp_path / "runs", "now", trials=2)
    assert [0, 0] == [_report(tmp_path, "now", "--site", "site").returncode for _ in range(2)]
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "style.css").write_text("of somebody")
    refused = _report(tmp_path, "now", "--site", "own")
    assert (2, "of somebody") == (refused.returncode, (tmp_path / "own" / "style.css").read_text())
    assert "--site" in refused.stderr
    assert (2, 2) == (
        _report(tmp_path, "now", "--site", "x", "--html").returncode,
        _report(tmp_path, "now", "--against", "now").returncode,
    )
    page = Path(_report(tmp_path, "now", "--html").stdout.strip())
    assert folder.path / "report" / "report.html" == tmp_path / page


def test_without_another_run_a_report_is_compared_with_the_baseline(tmp_path: Path) -> None:
    before = store(tmp_path / "runs", "before", trials=6, failing=(0,))
    write_baseline(tmp_path, baseline_of(before))
    text = html_report(tmp_path, store(tmp_path / "runs", "after", trials=6, failing=(1,)))
    assert "the baseline of s" in text
    compared = text[text.index('aria-label="Comparison"') :]
    rows = [" ".join(re.sub(r"<[^>]+>", " ", one).split()) for one in re.findall(r"<tr.*?</tr>", compared)]
    first = next(one for one in rows if one.startswith("case-"))
    assert (True, True) == (first.startswith("case-0001 / 1"), "✓ passed ✗ failed" in first)


def test_a_text_of_any_length_is_cut_and_its_length_told(tmp_path: Path) -> None:
    folder = store(tmp_path / "runs", "long", trials=1, result="x" * 100_000)
    assert "40000 of 100000 characters are shown" in html_report(tmp_path, folder)


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    folder = store(tmp_path / "runs")
    first = write_html(tmp_path, folder, tmp_path / "1.html").read_bytes()
    assert first == write_html(tmp_path, RunFolder.open(folder.path), tmp_path / "2.html").read_bytes()


def test_a_damaged_trial_is_named_and_no_page_is_left(tmp_path: Path) -> None:
    folder = store(tmp_path / "runs")
    (folder.path / "trials" / "case-0001" / "1" / "trial.json").write_text("{}")
    with pytest.raises(ResultsError, match=r"case-0001/1/trial\.json"):
        write_html(tmp_path, folder, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.slow
def test_a_file_and_a_site_lead_from_a_run_to_a_step_without_a_program(browser: Browser, tmp_path: Path) -> None:
    before, after = two(tmp_path)
    one = write_html(tmp_path, after, tmp_path / "page.html", before)
    for start in (one, write_site(tmp_path, after, tmp_path / "site", before)):
        for width, dark in ((1280, False), (390, True)):
            browser.load(start, width=width, dark=dark)
            for word in ("Success by category", "Failure modes"):
                assert word in browser.run("document.body.innerText")
            for sought in ("a[href*='case-0002'], .list tbody a", "a[href*='step-1']"):
                assert {"unnamed": [], "faint": [], "twice": []} == browser.run(_AUDIT)
                overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert browser.run(overflow) <= 0
                shown = f"[...document.querySelectorAll({sought!r})].find(one => one.checkVisibility())"
                href = browser.run(f"{shown}.href")
                browser.run(f"{shown}.click()")
                browser.until(f"location.href === {href!r}")
            assert browser.run("document.querySelector('.step:target')?.checkVisibility()")
            assert 1 == browser.run("[...document.querySelectorAll('h1')].filter(one => one.checkVisibility()).length")
            assert browser.run("getComputedStyle(document.querySelector('.step')).borderLeftWidth") == "3px"
            assert [] == browser.complaints
            assert all(unescape(url).startswith("file:") or url == "about:blank" for url in browser.requests)
            assert not browser.run("Boolean(window.hacked)")
