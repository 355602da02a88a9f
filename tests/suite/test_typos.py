"""A misspelt field is named first, with the field that was meant; what is missing comes after it."""

from pathlib import Path

import pytest

from harness.errors import InvalidDocument, UsageError
from harness.sandbox.environment import load_environment
from harness.scoring.scorer import build_scorer
from harness.suite.loading import load_suite
from tests.suite.test_loading import CASES, SUITE, refusal, write_suite


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "command: [python3",
            "comand: [python3",
            "suite.yaml:3: field 'agents.v1.comand': unknown field, did you mean 'command'? Missing: agents.v1.command",
        ),
        ("server: desk, effect", "server: desk, efect", "field 'tools.0.efect': unknown field, did you mean 'effect'?"),
        ("{path: /find}", "{pth: /find}", "field 'tools.0.http.pth': unknown field, did you mean 'path'?"),
        (
            "base_url:",
            "bas_url:",
            "suite.yaml:5: field 'servers.desk.bas_url': unknown field, did you mean 'base_url'?",
        ),
        ("description: greets", "descripton: greets", "suite.yaml:1: field 'descripton': unknown field"),
        (
            "limits: {seconds",
            "limits: {secnds",
            "field 'limits.secnds': unknown field, did you mean 'seconds'?",
        ),
    ],
)
def test_in_a_suite(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in SUITE
    write_suite(tmp_path, SUITE.replace(old, new))
    assert said in refusal(tmp_path)


def test_in_a_case_and_in_what_stands_in_it(tmp_path: Path) -> None:
    write_suite(tmp_path, SUITE, CASES.replace("after: [a]", "afer: [a]"))
    assert all(part in refusal(tmp_path) for part in ("cases.yaml:8: ", "field '1.reference.1.afer'", "'after'"))


def test_a_name_that_resembles_none_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    write_suite(tmp_path, SUITE, CASES.replace("{id: a, tool: find}", "{id: a, tool: find, zzz: 1}"))
    assert "unknown field; known here: after, any_of, arguments, id, tool" in refusal(tmp_path)


def test_in_an_environment(tmp_path: Path) -> None:
    folder = tmp_path / "images" / "e"
    folder.mkdir(parents=True)
    (folder / "environment.yaml").write_text("services:\n  db:\n    image: db\n    prt: 1\n    wait: {http: /}\n")
    with pytest.raises(InvalidDocument, match=r"yaml:4: field 'services\.db\.prt': .*'port'"):
        load_environment(tmp_path, "e")


CHECKED = """\
- id: hello
  task: Say hello
  checks:
    - name: greets
      verifier: final_answer
      with:
        equal: hello
"""


@pytest.mark.parametrize(
    ("suite", "cases", "said"),
    [
        (
            SUITE,
            CHECKED,
            "cases.yaml:7: suite 'greeter', case 'hello', check 'greets': field 'with.equal': "
            "unknown field, did you mean 'equals'?",
        ),
        (
            SUITE,
            CHECKED.replace("final_answer", "final"),
            "cases.yaml:5: suite 'greeter', case 'hello', check 'greets'",
        ),
        (
            SUITE + "checks:\n  - {name: all, verifier: state,\n     with: {probe: none}}\n",
            CASES,
            "suite.yaml:12: suite 'greeter', case 'hello', check 'all': field 'with.probe': 'none' is none of",
        ),
    ],
)
def test_a_wrong_check_is_named_with_file_and_line(tmp_path: Path, suite: str, cases: str, said: str) -> None:
    folder = write_suite(tmp_path, suite, cases)
    with pytest.raises(UsageError) as caught:
        build_scorer(load_suite(tmp_path, "greeter"))
    assert said in str(caught.value).replace(f"{folder.resolve()}/", "")
