"""The documentation builds strictly, without a network, and needs none to be looked at."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.build import ROOT, loaded_from_elsewhere, problems_in
from tests.reports.html.browser import Browser

_NO_NETWORK = ("unshare", "--map-root-user", "--net")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    return tmp_path


def without_network() -> tuple[str, ...]:
    """What to put before a command so that it has no network, where this machine lets us."""
    tried = subprocess.run([*_NO_NETWORK, "true"], capture_output=True)
    return _NO_NETWORK if tried.returncode == 0 else ()


def test_it_builds_strictly_and_without_a_network(project: Path) -> None:
    assert [] == problems_in(project, *without_network())
    assert (project / "site/tutorial/first-suite.html").is_file()
    published = project / "site/reference/schemas/suite.json"
    assert json.loads((ROOT / "docs/reference/schemas/suite.json").read_text()) == json.loads(published.read_text())


@pytest.mark.slow
def test_a_search_from_the_disk_finds_the_page_first(project: Path) -> None:
    assert [] == problems_in(project)
    found = {
        "fail below 90 %": "how-to/baseline.html",
        "custom metric": "how-to/extend/metric.html",
        "mock one tool": "how-to/conversations.html",
        "Claude key": "how-to/gateway/model.html",
    }
    shadow = "[...document.querySelectorAll('*')].find(one => one.shadowRoot)?.shadowRoot"
    with Browser() as browser:
        for query, page in found.items():
            browser.load(project / "site/concepts/index.html")
            browser.until("window.__index")
            browser.run("document.querySelector('.md-search__button').click()")
            browser.until(f"{shadow}.querySelector('input')")
            browser.run(f"{shadow}.querySelector('input').focus()")
            browser.send("Input.insertText", text=query)
            browser.until(f"{shadow}.querySelector('a[href]')")
            first = browser.run(f"{shadow}.querySelector('a[href]').href")
            assert (query, page) == (query, first.partition("/site/")[2].partition("?")[0])
            assert [] == browser.complaints


@pytest.mark.slow
@pytest.mark.parametrize("link", ["[there](nowhere.md)", "[there](reference/index.md#nowhere)"])
def test_a_link_that_leads_nowhere_fails_the_build(project: Path, link: str) -> None:
    page = project / "docs/index.md"
    page.write_text(page.read_text(encoding="utf-8") + f"\n{link}\n", encoding="utf-8")
    (problem,) = problems_in(project)
    assert "does not exist" in problem


@pytest.mark.parametrize(
    "loaded",
    [
        '<script src="https://cdn.example/a.js"></script>',
        '<link rel="stylesheet" href="https://fonts.example/css?family=Inter">',
        "<style>@import url('https://fonts.example/a.css');</style>",
    ],
)
def test_what_a_page_loads_from_elsewhere_is_found(tmp_path: Path, loaded: str) -> None:
    (tmp_path / "a.html").write_text(f"<html>{loaded}</html>", encoding="utf-8")
    assert 1 == len(loaded_from_elsewhere(tmp_path))


def test_a_link_to_read_elsewhere_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="https://zensical.org/">made with</a><img src="a.png">', encoding="utf-8")
    assert [] == loaded_from_elsewhere(tmp_path)
