"""`harness annotate` as it is typed: it opens the app at the questions, and ends well."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError
from tests.judging.verbs.stored import store
from tests.reports.app.client import unknown

_AS_ANN = ("--rubric", "prices", "--as", "ann")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    store(tmp_path, cases=2)
    rubrics = tmp_path / "suites" / "shop" / "rubrics"
    rubrics.mkdir(parents=True)
    shutil.move(tmp_path / "prices.yaml", rubrics / "prices.yaml")
    return tmp_path


@contextmanager
def _opened(project: Path, *words: str) -> Iterator[tuple[httpx.Client, httpx.Response]]:
    """The page to which the printed link leads, in a browser of its own; Ctrl-C ends the command."""
    line = [sys.executable, "-m", "harness", "--project", str(project), "annotate", "night", "--no-open", *words]
    process = subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    link = httpx.URL(process.stdout.readline().strip())
    try:
        origin = f"http://{link.host}:{link.port}"
        with unknown() as client:
            client.headers["Origin"] = origin
            yield client, client.get(link)
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (0, False) == (process.returncode, "Traceback" in errors)


def test_the_link_leads_to_the_questions_and_answers_are_in_the_project(shop: Path) -> None:
    with _opened(shop, *_AS_ANN) as (client, page):
        assert ("/annotate/night/prices", b"as=ann") == (page.url.path, page.url.query)
        question = page.url.join("/annotate/night/prices/case-01/1/grounded?as=ann")
        assert 200 == client.post(question, data={"answer": "pass", "note": "well"}).status_code
    lines = (shop / "suites" / "shop" / "labels" / "prices.jsonl").read_text().splitlines()
    assert [("case-01", "grounded", "pass", "well")] == [
        (one["case_id"], one["criterion"], one["answer"], one["note"]) for one in map(json.loads, lines)
    ]


@pytest.mark.parametrize(("words", "query"), [((), b"run=night"), (_AS_ANN[:2], b"run=night&rubric=prices")])
def test_what_is_not_given_is_chosen_in_the_app(shop: Path, words: tuple[str, ...], query: bytes) -> None:
    with _opened(shop, *words) as (_, page):
        assert (200, "/annotate", query) == (page.status_code, page.url.path, page.url.query)


@pytest.mark.parametrize(
    "words",
    [
        ("--rubric", "prices", "--as", "a b"),
        ("--rubric", "tone"),
        ("--as", "ann"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_served(shop: Path, words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(harness, ["--project", str(shop), "annotate", "night", *words], standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert "" == done.output
