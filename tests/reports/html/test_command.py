"""`harness report --html` as it is typed."""

import subprocess
from pathlib import Path

from tests.cli.starting import run_command
from tests.reports.html.reading import Page
from tests.reports.html.runs import store


def _report(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_command("report", *words, folder=project)


def test_the_page_goes_into_the_run_folder_and_its_path_is_printed(tmp_path: Path) -> None:
    store(tmp_path / "runs", "now", trials=2)
    done = _report(tmp_path, "now", "--html")
    assert (0, "") == (done.returncode, done.stderr)
    page = Path(done.stdout.strip())
    assert ("report.html", "report") == (page.name, page.parent.name)
    assert "<!doctype html>" == page.read_text(encoding="utf-8").splitlines()[0]


def test_two_runs_go_into_a_file_of_choice(tmp_path: Path) -> None:
    store(tmp_path / "runs", "now", trials=2)
    store(tmp_path / "runs", "before", trials=2)
    done = _report(tmp_path, "now", "--html", "--against", "before", "-o", "page.html")
    assert (0, "page.html\n") == (done.returncode, done.stdout)
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert ["now", "before"] == [run["run"] for run in page.data["report"]["runs"]]


def test_the_options_of_the_page_are_refused_without_it(tmp_path: Path) -> None:
    store(tmp_path / "runs", "now", trials=2)
    done = _report(tmp_path, "now", "--against", "now")
    assert (2, "") == (done.returncode, done.stdout)
    assert "--html" in done.stderr
