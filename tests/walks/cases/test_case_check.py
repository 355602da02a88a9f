"""`harness case check` on a first project, and on a suite that has a server outside of its environment."""

import json
import shutil
from pathlib import Path

import yaml

from tests.walks.conftest import ROOT, Walk

_OWN_SERVER = (
    "servers:\n  desk: {service: desk, double: true} # a program of this repository; the database behind it is "
    "PostgreSQL itself\ntools:\n"
)
_LIVE_SERVER = """\
servers:
  desk: {service: desk}
  clock: {base_url: "http://127.0.0.1:9", state: clock}
tools:
  - name: time_of_day
    server: clock
    effect: read
    http: {path: /now}
"""


def _copy_library(folder: Path) -> None:
    for name in ("images/postgres", "images/library_desk", "snapshots/library_desk", "suites/library_desk"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copytree(ROOT / "cassettes" / "library_desk", folder / "cassettes" / "library_desk")


def _add_live_server(folder: Path) -> None:
    file = folder / "suites" / "library_desk" / "suite.yaml"
    before = file.read_text(encoding="utf-8")
    after = before.replace(_OWN_SERVER, _LIVE_SERVER)
    assert before != after
    file.write_text(after, encoding="utf-8")


def test_the_cases_of_a_first_project_are_right(walk: Walk) -> None:
    walk("init", "mine")
    checked = walk("--project", "mine", "case", "check", "hello", "--sandbox", "local")
    assert "2 cases checked, 0 wrong" in checked.stderr


def test_a_case_made_of_a_trace_needs_no_reference(walk: Walk) -> None:
    walk("init", "mine")
    file = walk.folder / "mine" / "suites" / "hello" / "cases.yaml"
    cases = [{**case, "origin": "session:c1"} for case in yaml.safe_load(file.read_text(encoding="utf-8"))]
    del cases[0]["reference"]
    file.write_text(yaml.safe_dump(cases), encoding="utf-8")

    checked = walk("--project", "mine", "case", "check", "hello", "--sandbox", "local", "--json")

    assert [True, False] == [bool(finding["warning"]) for finding in json.loads(checked.stdout)]


def test_an_oracle_without_an_answer_is_told_what_it_would_answer_with(walk: Walk) -> None:
    walk("init", "mine")
    cases = walk.folder / "mine" / "suites" / "hello" / "cases.yaml"
    lines = cases.read_text(encoding="utf-8").splitlines(keepends=True)
    cases.write_text("".join(line for line in lines if "expected_output" not in line), encoding="utf-8")

    checked = walk("--project", "mine", "case", "check", "hello", "--sandbox", "local", "--json", status=1)

    problems = {finding["case_id"]: finding["problem"] for finding in json.loads(checked.stdout)}
    assert "`expected_output`" in problems["hello-world"]


def test_a_suite_with_a_server_that_cannot_be_sealed_is_checked_by_its_cassettes(walk: Walk) -> None:
    _copy_library(walk.folder)
    services_only = walk("case", "check", "library_desk", "--sandbox", "local", status=2)
    _add_live_server(walk.folder)
    checked = walk("case", "check", "library_desk", "--sandbox", "local")

    assert "`sealed` tools need" in services_only.stderr
    assert "oracle: 4 cases, tools replay" in checked.stderr
    assert "4 cases checked, 0 wrong" in checked.stderr


def test_what_cannot_be_sealed_is_refused_with_the_modes_that_can_answer(walk: Walk) -> None:
    walk("init", "mine")
    suite = walk.folder / "mine" / "suites" / "hello" / "suite.yaml"
    server = 'servers:\n  clock: {base_url: "http://127.0.0.1:9"}\n'
    suite.write_text(suite.read_text(encoding="utf-8") + server, encoding="utf-8")

    refused = walk("--project", "mine", "run", "hello", "--sandbox", "local", "--live", "sealed", status=2)

    assert "'clock'" in refused.stderr
    assert "`--live none` or `--live tools`" in refused.stderr
