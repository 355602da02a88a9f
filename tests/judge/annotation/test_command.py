"""`harness annotate` as it is typed: it prints an address, serves it, and ends well."""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError
from tests.judge.verbs.stored import store


def _started(project: Path, *words: str) -> tuple["subprocess.Popen[str]", str]:
    line = [sys.executable, "-m", "harness", "--project", str(project), "annotate", "night"]
    rubric = ["--rubric", str(project / "prices.yaml"), "--as", "ann"]
    process = subprocess.Popen([*line, *rubric, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def _post(url: str, path: str, body: object) -> None:
    parts = urlsplit(url)
    request = urllib.request.Request(
        f"{parts.scheme}://{parts.netloc}{path}",
        json.dumps(body).encode(),
        {"X-Token": parts.query.removeprefix("token="), "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        assert response.status == 200


def test_labels_are_in_the_project_when_the_page_is_finished(tmp_path: Path) -> None:
    store(tmp_path, cases=2)
    process, url = _started(tmp_path, "--criterion", "grounded")
    _post(url, "/api/question/1", {"answer": "pass", "note": "well"})
    _post(url, "/api/finish", {})
    _, errors = process.communicate(timeout=60)
    assert (0, True) == (process.returncode, re.search(r"\b1 of 2\b.*\bann\b", errors) is not None)
    lines = (tmp_path / "suites" / "shop" / "labels" / "prices.jsonl").read_text().splitlines()
    assert [("case-01", "grounded", "pass")] == [
        (one["case_id"], one["criterion"], one["answer"]) for one in map(json.loads, lines)
    ]


def test_ctrl_c_is_a_good_end(tmp_path: Path) -> None:
    store(tmp_path, cases=2)
    process, url = _started(tmp_path)
    _post(url, "/api/question/0", {"answer": "fail"})
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (0, True) == (process.returncode, "1 of 4 questions" in errors)
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--criterion", "tone"), "has no criterion tone"),
        (("--case", "case-77"), "has no case 'case-77'"),
        (("--as", "a b"), "'a b'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_served(tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    store(tmp_path, cases=2)
    line = ["--project", str(tmp_path), "annotate", "night", "--rubric", str(tmp_path / "prices.yaml"), "--as", "ann"]
    done = CliRunner().invoke(harness, [*line, *words], standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert why in str(done.exception)
    assert "" == done.output
