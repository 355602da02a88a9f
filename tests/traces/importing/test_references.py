"""`harness score RUN --references FILE`: what is expected of the cases of an imported run."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.traces.importing.test_import_command import _type


def _called(id: str, answer: str, **arguments: Any) -> str:
    call = {"id": "1", "type": "function", "function": {"name": "book", "arguments": json.dumps(arguments)}}
    messages = [
        {"role": "user", "content": f"Book {id}."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "done"},
        {"role": "assistant", "content": answer},
    ]
    return json.dumps({"id": id, "messages": messages})


EXPECTED = [
    {"id": "a", "reference": [{"tool": "book", "arguments": {"seat": "7A"}}], "expected_output": 12},
    {"id": "b", "reference": [{"tool": "book", "arguments": {"seat": "7A"}, "any_of": {"seat": ["7B"]}}]},
    {"id": "c", "reference": [{"tool": "cancel", "arguments": {}}]},
    {"id": "d", "expected_output": "Done."},
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    answers = {"a": "It costs 12 EUR.", "b": "Done.", "c": "Done.", "d": "Not done.", "e": "Done."}
    records = [_called(name, answer, seat="7B" if name == "b" else "7A") for name, answer in answers.items()]
    (tmp_path / "runs.jsonl").write_text("\n".join(records))
    _type(tmp_path, "import", "openai-chat", str(tmp_path / "runs.jsonl"), "--run-name", "r")
    return tmp_path


def score(project: Path, expected: Any, *more: str, run: str = "r") -> str:
    (project / "expected.yaml").write_text(yaml.safe_dump(expected))
    return _type(project, "score", run, "--references", str(project / "expected.yaml"), *more)


def verdicts(project: Path) -> dict[str, dict[str, bool | None]]:
    latest = max((project / "runs" / "r" / "scores").iterdir(), key=lambda one: int(one.name))
    cards = [json.loads(line) for line in (latest / "scorecards.jsonl").read_text().splitlines()]
    return {card["case_id"]: {one["check"]: one["passed"] for one in card["verdicts"]} for card in cards}


def test_expected_calls_and_answers_become_checks_of_an_imported_run(project: Path) -> None:
    said = score(project, EXPECTED)
    wanted = {
        "a": {"expected calls": True, "expected answer": True},
        "b": {"expected calls": True},
        "c": {"expected calls": False},
        "d": {"expected answer": False},
        "e": {},
    }
    assert wanted == verdicts(project), said
    _type(project, "score", "r")
    assert wanted == verdicts(project), "they are stored with the run"
    score(project, [{"id": "d", "expected_output": "Not done."}])
    assert {**wanted, "d": {"expected answer": True}} == verdicts(project), "another file replaces what it names"
    assert "'1' (cancel)" in _type(project, "explain", "r", "c")


def test_a_run_with_references_is_compared_with_no_other_kind(project: Path) -> None:
    _type(project, "import", "openai-chat", str(project / "runs.jsonl"), "--run-name", "other")
    score(project, EXPECTED)
    assert "have no trial" in (said := _type(project, "compare", "r", "other")) or "scored by" in said
    score(project, EXPECTED, run="other")
    assert "passed 50 % → 50 %" in _type(project, "compare", "r", "other")


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ([{"id": "z", "expected_output": 1}], "no case z"),
        ([{"id": "a", "reference": [{"arguments": {}}]}], "tool"),
        ([{"id": "a", "reference": [{"tool": "book", "after": ["9"]}]}], "9"),
        ([{"id": "a", "checks": []}], "checks"),
        ([{"id": "a"}, {"id": "a", "expected_output": 1}], "twice"),
        ({"a": 1}, "list"),
    ],
)
def test_a_wrong_file_is_refused_and_the_run_stays_as_it_is(project: Path, expected: Any, problem: str) -> None:
    before = (project / "runs" / "r" / "suite.json").read_bytes()
    assert problem in score(project, expected)
    assert before == (project / "runs" / "r" / "suite.json").read_bytes()
