"""Suites as people write them, and the words with which wrong ones are refused."""

from pathlib import Path
from textwrap import dedent

import pytest

from harness.errors import ExitCode, InvalidDocument, UsageError
from harness.suite.loading import load_suite

SUITE = """\
description: greets people
agents:
  v1: {command: [python3, "{agent}/main.py"], files: agents/v1}
servers:
  desk: {base_url: "http://localhost:1"}
tools:
  - {name: find, server: desk, effect: read, http: {path: /find}}
  - {name: book, server: desk, http: {method: POST, path: /book, body: arguments}}
limits: {seconds: 5, steps: 7}
"""

CASES = """\
- id: hello
  task: Say hello
- id: book-it
  task: Book the room
  limits: {steps: 3}
  reference:
    - {id: a, tool: find}
    - {id: b, tool: book, after: [a]}
"""


def write_suite(project: Path, suite: str = SUITE, cases: str = CASES) -> Path:
    folder = project / "suites" / "greeter"
    (folder / "agents" / "v1").mkdir(parents=True)
    (folder / "agents" / "v1" / "main.py").write_text("print('hi')\n")
    (folder / "suite.yaml").write_text(dedent(suite))
    (folder / "cases.yaml").write_text(dedent(cases))
    return folder


def refusal(project: Path) -> str:
    with pytest.raises(InvalidDocument) as refused:
        load_suite(project, "greeter")
    assert refused.value.exit_code is ExitCode.USAGE
    return str(refused.value).replace(str(project.resolve()), "").replace("/suites/greeter/", "")


def test_a_suite_takes_its_name_from_its_folder_and_its_first_agent_as_default(tmp_path: Path) -> None:
    write_suite(tmp_path)
    suite = load_suite(tmp_path, "greeter")
    assert ("greeter", "v1") == (suite.name, suite.default_agent)
    assert ["hello", "book-it"] == [case.id for case in suite.cases]


def test_a_case_takes_the_suites_limits_and_overrides_them_one_by_one(tmp_path: Path) -> None:
    write_suite(tmp_path)
    hello, book = load_suite(tmp_path, "greeter").cases
    assert (5, 7) == (hello.limits.seconds, hello.limits.steps)
    assert (5, 3) == (book.limits.seconds, book.limits.steps)


def test_a_tool_that_declares_no_effect_counts_as_a_write(tmp_path: Path) -> None:
    write_suite(tmp_path)
    assert {"find": "read", "book": "write"} == {t.name: t.effect for t in load_suite(tmp_path, "greeter").tools}


def test_an_edited_agent_leaves_the_suites_digest_alone_and_an_edited_case_does_not(tmp_path: Path) -> None:
    folder = write_suite(tmp_path)
    before = load_suite(tmp_path, "greeter").digest
    (folder / "agents" / "v1" / "main.py").write_text("print('hello')\n")
    assert before == load_suite(tmp_path, "greeter").digest
    (folder / "cases.yaml").write_text(CASES.replace("Say hello", "Say hallo"))
    assert before != load_suite(tmp_path, "greeter").digest


def test_the_code_of_a_suites_own_check_is_part_of_the_digest(tmp_path: Path) -> None:
    folder = write_suite(tmp_path, SUITE + "metrics: ['checks.py:Polite']\n")
    (folder / "checks.py").write_text("class Polite: ...\n")
    before = load_suite(tmp_path, "greeter").digest
    (folder / "checks.py").write_text("class Polite: strict = True\n")
    assert before != load_suite(tmp_path, "greeter").digest


def test_an_unknown_suite_is_answered_with_the_ones_there_are(tmp_path: Path) -> None:
    write_suite(tmp_path)
    with pytest.raises(UsageError, match="suites here: greeter"):
        load_suite(tmp_path, "gretter")


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ("- id: a\n", "cases.yaml:1: field '0.task': is missing"),
        ("- id: a\n  task: t\n  limit: {}\n", "cases.yaml:3: field '0.limit': unknown field, did you mean 'limits'?"),
        ("- id: a b\n  task: t\n", "cases.yaml:1: field '0.id': expected a text that matches "),
        ("- {id: a, task: t}\n- {id: a, task: t}\n", "cases.yaml:2: field '1.id': case id 'a' is given twice"),
        ("- {id: a, task: t, tools: [fnd]}\n", "cases.yaml:1: field '0.tools': case 'a' names ['fnd']"),
        ("- id: a\n  task: t\n  task: u\n", "cases.yaml:3: key 'task' is given twice"),
        ("- id: [\n", "cases.yaml:2: is not YAML"),
        ("id: a\n", "cases.yaml:1: expected a list of cases"),
        ("[]\n", "suite.yaml:1: field 'cases': no case is declared"),
        (
            "- id: a\n  task: t\n  reference: [{id: x, tool: find, after: [y]}]\n",
            "cases.yaml:1: field '0': reference call 'x' comes after ['y'], which do not stand before it",
        ),
    ],
)
def test_a_wrong_case_is_refused_with_file_line_and_field(tmp_path: Path, cases: str, message: str) -> None:
    write_suite(tmp_path, cases=cases)
    assert refusal(tmp_path).startswith(message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("effect: read", "effect: reads", "suite.yaml:7: field 'tools.0.effect'"),
        (
            "server: desk, effect",
            "server: dsk, effect",
            "suite.yaml:6: field 'tools': tool 'find' names the server 'dsk'",
        ),
        ('base_url: "http://localhost:1"', "", "suite.yaml:5: field 'servers.desk': needs exactly one of"),
        ("files: agents/v1", "files: agents/v2", "suite.yaml:3: field 'agents.v1.files': there is no folder"),
        ("files: agents/v1", f"files: {'v' * 300}", "suite.yaml:3: field 'agents.v1.files': there is no folder 'vv"),
        ("seconds: 5", "seconds: 0", "suite.yaml:9: field 'limits.seconds'"),
        ("- {name: book,", "- {name: find,", "suite.yaml:6: field 'tools': tools are declared twice: find"),
        ("limits:", "cases: c*.json\nlimits:", "suite.yaml:9: field 'cases': no file matches 'c*.json'"),
        (
            "limits:",
            "cases: [{id: a, task: b}]\nlimits:",
            "suite.yaml:9: field 'cases': expected a file, or a list of files, that hold the cases",
        ),
        (
            "limits:",
            "probes: [{name: p, tool: book}]\nlimits:",
            "suite.yaml:9: field 'probes.0.tool': expected a tool with effect: read, found 'book'",
        ),
    ],
)
def test_a_wrong_suite_is_refused_with_file_line_and_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    write_suite(tmp_path, SUITE.replace(old, new, 1))
    assert refusal(tmp_path).startswith(message)


def test_a_suite_that_is_not_utf8_is_refused_by_name(tmp_path: Path) -> None:
    (write_suite(tmp_path) / "suite.yaml").write_bytes(b"description: \xff\n")
    assert refusal(tmp_path).startswith("suite.yaml: is not UTF-8")


@pytest.mark.parametrize("name", ["../../elsewhere", "a/b", "", ".hidden", "a\\0b"])
def test_a_suites_name_is_the_name_of_files_and_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    write_suite(tmp_path, SUITE + f'name: "{name}"\n')
    assert refusal(tmp_path).startswith("suite.yaml:10: field 'name': expected a text that matches ")
