"""Fixture packs, faults and conversations as people write them, and the words for wrong ones."""

import json
from pathlib import Path

import pytest
import yaml

from harness.errors import InvalidDocument
from harness.suite.loading import load_suite
from harness.suite.tools import changed_at, values_at, without

SUITE = """\
agents:
  v1: {command: [run], files: agent}
servers:
  desk: {base_url: "http://localhost:1"}
tools:
  - name: find
    server: desk
    effect: read
    http: {path: /find}
    parameters: {type: object, properties: {q: {type: string}}}
"""


def write(project: Path, case: str, **packs: str) -> None:
    folder = project / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (folder / "fixtures").mkdir()
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "cases.yaml").write_text(f"- id: a\n  task: hi\n  {case}\n")
    for name, text in packs.items():
        (folder / "fixtures" / f"{name}.yaml").write_text(text)


def refusal(project: Path) -> str:
    with pytest.raises(InvalidDocument) as refused:
        load_suite(project, "s")
    return str(refused.value).split("/suites/s/")[-1]


def test_packs_are_loaded_with_the_cases_that_name_them_and_are_part_of_what_is_asked(tmp_path: Path) -> None:
    write(tmp_path, "fixtures: [p]", p="find:\n  - {when: {q: x}, answer: {a: [1]}}\n  - answer: null\n", unused="x: 1")
    suite = load_suite(tmp_path, "s")
    assert {"p": [({"q": "x"}, {"a": [1]}), ({}, None)]} == {
        name: [(one.when, one.answer) for one in pack.fixtures] for name, pack in suite.packs.items()
    }
    (tmp_path / "suites/s/fixtures/p.yaml").write_text("find: {answer: 2}\n")
    assert suite.digest != load_suite(tmp_path, "s").digest


@pytest.mark.parametrize(
    ("name", "text", "answer"),
    [
        ("find", '{"items": []}', {"items": []}),
        ("Find-empty.v1", "[]", []),
        ("find_v1", "{answer: 3, items: [{answer: 1}]}", {"answer": 3, "items": [{"answer": 1}]}),
        ("p", "{tool: find, items: [1]}", {"items": [1]}),
        ("p", "{tool: find, answer: [1]}", [1]),
    ],
)
@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_pack_of_one_tool_is_its_payload_as_it_stands(
    tmp_path: Path, name: str, text: str, answer: object, suffix: str
) -> None:
    write(tmp_path, f"fixtures: [{name}]", **{name: text})
    file = tmp_path / f"suites/s/fixtures/{name}.yaml"
    if suffix == "json":
        file.with_name(f"{name}.json").write_text(json.dumps(yaml.safe_load(file.read_text())))
        file.unlink()
    assert [("find", answer)] == [(one.tool, one.answer) for one in load_suite(tmp_path, "s").packs[name].fixtures]


def test_a_misspelt_tool_is_no_payload_of_the_tool_that_the_pack_is_named_after(tmp_path: Path) -> None:
    write(tmp_path, "fixtures: [find_v1]", find_v1="fnd: {answer: 1}\n")
    assert "fixtures/find_v1.yaml:1: field 'fnd': there is no tool 'fnd'" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("pack", "words"),
    [
        ("find: {answer: 1}\nbook: {answer: 1}\n", "fixtures/p.yaml:2: field 'book': there is no tool 'book'"),
        ("find:\n  - answer: 1\n  - answr: 2\n", "fixtures/p.yaml:3: field 'find.1': has no `answer`"),
        ("find:\n  answer: {at: 2026-01-01}\n", "fixtures/p.yaml:2: field 'find.answer"),
        ("find: {answer: 1, when: {z: 1}}\n", "fixtures/p.yaml:1: field 'find.when': find has no argument 'z'"),
        ("- find\n", "fixtures/p.yaml:1: expected a mapping of tools to payloads"),
    ],
)
def test_a_pack_that_is_wrong_is_refused_with_its_line(tmp_path: Path, pack: str, words: str) -> None:
    write(tmp_path, "fixtures: [p]", p=pack)
    assert refusal(tmp_path).startswith(words)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("fixtures: [q]", "cases.yaml:3: field '0.fixtures': case 'a' names the fixture pack 'q'"),
        ("faults: [{tool: book, call: 1, kind: reset}]", "cases.yaml:3: field '0.faults': case 'a' names ['book']"),
        ("faults: [{tool: find, kind: reset}]", "cases.yaml:3: field '0.faults.0.call'"),
        (
            "faults: [{tool: find, call: 1, kind: http_status}]",
            "cases.yaml:3: field '0.faults.0': a fault",
        ),
        ("faults: [{tool: find, call: 1, kind: reset, at: /a}]", "cases.yaml:3: field '0.faults.0'"),
        ("faults: [{tool: find, call: 0, kind: reset}]", "cases.yaml:3: field '0.faults.0.call'"),
        ("conversation: {turns: [{when: {contains: x}}]}", "cases.yaml:3: field '0.conversation.turns.0'"),
        ("conversation: {turns: [{say: x, when: {regex: '('}}]}", "cases.yaml:3: field '0.conversation.turns.0.when"),
    ],
)
def test_a_case_that_is_wrong_is_refused_with_its_line(tmp_path: Path, case: str, words: str) -> None:
    write(tmp_path, case)
    assert refusal(tmp_path).startswith(words)


def test_pointers_reach_members_items_and_every_item() -> None:
    value = {"a": [{"b": 1, "c": 2}, {"b": 3}], "x/y": {"~": 4}, "n": None}
    assert (1, 3) == values_at(value, "/a/*/b")
    assert (4,) == values_at(value, "/x~1y/~0")
    assert (None,) == values_at(value, "/n")
    assert () == values_at(value, "/a/7/b")
    assert [{"c": 2}, {}] == without(value, "/a/*/b")["a"]
    assert [{"b": 1, "c": 2}] == without(value, "/a/1")["a"]
    assert value == changed_at(value, "/nothing/here", lambda _: 0)
