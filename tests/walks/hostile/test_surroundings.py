"""Commands that are started in odd surroundings say what is wrong, or do their work; never a traceback."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.starting import HARNESS
from tests.walks.conftest import Walk, WriteSuite

ONE_CASE = "- {id: one, task: nothing}\n"
CHECKS = "checks:\n  - {name: said, verifier: final_answer, with: {regex: .}}\n"


def typed(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line of shell, in which HARNESS stands for the command."""
    return subprocess.run(
        ["bash", "-c", script.replace("HARNESS", str(HARNESS))],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("words", [["--help"], ["runs"]])
def test_a_reader_that_leaves_is_no_verdict(tmp_path: Path, words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [HARNESS, *words], cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writer)
    assert (141, "") == (done.returncode, done.stderr)


def test_a_closed_output_keeps_the_status_of_what_was_done(tmp_path: Path) -> None:
    assert (0, "") == (typed("HARNESS runs <&- >&-", tmp_path).returncode, "")
    nowhere = typed("HARNESS report no-such-run <&- >&- 2>&-", tmp_path)
    assert (2, "") == (nowhere.returncode, nowhere.stderr)


def test_output_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    done = typed("HARNESS --help 1</dev/null", tmp_path)
    assert (3, "harness: Bad file descriptor\n") == (done.returncode, done.stderr)


def test_a_locale_in_which_files_would_not_be_found_is_refused(tmp_path: Path) -> None:
    done = typed("HARNESS runs", tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert 2 == done.returncode
    assert "ascii" in done.stderr
    assert "-> set LC_ALL=C.UTF-8, or PYTHONUTF8=1" in done.stderr


@pytest.mark.slow
def test_letters_that_the_output_has_not_are_shown_by_number(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(CHECKS, "- {id: one, task: 東京}\n", {"main.py": "print('said')\n"})
    walk("run", "s", "--run-name", "tokyo", "--sandbox", "local")
    done = typed("HARNESS explain tokyo one", walk.folder, PYTHONIOENCODING="latin-1")
    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.slow
def test_what_this_machine_refuses_a_trial_is_told_with_it(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(CHECKS, ONE_CASE, {"main.py": "print('said')\n"})
    (walk.folder / ".harness").write_text("no folder", encoding="utf-8")
    walk("run", "s", "--run-name", "refused", "--sandbox", "local", status=3)
    trial = walk.trial("refused", "one")
    assert "harness_failed" == trial["outcome"]
    assert trial["reason"].startswith(str(walk.folder / ".harness"))


@pytest.mark.slow
def test_a_narrow_terminal_still_shows_what_figures_are_about(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(CHECKS, ONE_CASE, {"main.py": "print('said')\n"})
    walk("run", "s", "--run-name", "narrow", "--sandbox", "local")
    shown = typed('script -qec "stty cols 20; HARNESS report narrow --all" /dev/null', walk.folder, NO_COLOR="1")
    assert 0 == shown.returncode
    assert "termination" in shown.stdout
