"""`harness compare --migration`: one page on a change of the base model, from two runs with tools and a rubric."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError

SUITE = """\
agents:
  v1:
    command: [python3, "{agent}/main.py", "{model}"]
    files: agent
    prompts: [prompt.txt]
    variables: {model: old}
tools:
  - {python: tools.py, reads: ["*"], disposable: true}
checks: [{name: sum, verifier: final_answer}]
limits: {seconds: 120}
"""
TOOLS = '''\
def add(numbers: list[int]) -> dict:
    """The sum of the numbers."""
    return {"sum": sum(numbers)}
'''
AGENT = """\
import json, os, sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(os.environ["HARNESS_GATEWAY_URL"] + path, data, headers)) as answer:
        return json.loads(answer.read() or b"null")

numbers = [int(word) for word in ask("/turn")["message"].split()]
try:
    said = ask("/tools/add", {"numbers": json.dumps(numbers) if sys.argv[1] == "new" else numbers})["sum"]
except HTTPError:
    said = "There was an error, and I am sorry that I cannot say what the sum of these numbers is at all"
ask("/reply", {"message": str(said)})
"""
CASES = [
    {
        "id": f"sum-{number}",
        "task": f"{number} {number}",
        "reference": [{"id": "add", "tool": "add", "arguments": {"numbers": [number, number]}}],
        "expected_output": str(2 * number),
    }
    for number in range(1, 9)
]
CRITERIA = '''\
from typing import ClassVar

from harness.api import Decision, Frozen, Transcript


class Short(Frozen):
    """The answer is short."""

    version: ClassVar[str] = "1"

    def decide(self, transcript: Transcript) -> Decision:
        spoken = [piece for piece in transcript.pieces if piece.kind in ("agent", "answer")]
        words = max((len(piece.text.split()) for piece in spoken), default=0)
        return Decision(passed=words < 5, rationale=f"{words} words")
'''
RUBRIC = """\
name: manner
domains: {brevity: 1}
criteria: [{id: short, domain: brevity, statement: The answer is short., kind: code, code: "criteria.py:Short"}]
"""

Type = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a run of the old model, one of the new, and a repetition of the old one; two of them judged."""
    folder = tmp_path_factory.mktemp("project")
    suite = folder / "suites" / "sums"
    for name, text in {
        "suite.yaml": SUITE,
        "tools.py": TOOLS,
        "cases.yaml": json.dumps(CASES),
        "criteria.py": CRITERIA,
        "rubrics/manner.yaml": RUBRIC,
        "agent/main.py": AGENT,
        "agent/prompt.txt": "Add.\n",
    }.items():
        (suite / name).parent.mkdir(parents=True, exist_ok=True)
        (suite / name).write_text(text)
    assert 0 == typed(folder, "tool", "refresh", "sums")[0]
    run = ("run", "sums", "--sandbox", "local", "--live", "tools")
    assert 0 == typed(folder, *run, "--with", "model=old,new", "--run-name", "m")[0]
    assert 0 == typed(folder, *run, "--run-name", "repeated")[0]
    for name in ("m-old", "m-new"):
        judged = ("judge", "run", name, "--rubric", "manner", "--model", "none", "--calls", "replay")
        assert 0 == typed(folder, *judged)[0]
    return folder


def typed(project: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(harness, ["--project", str(project), *words])
    if isinstance(done.exception, UsageError):
        return 2, str(done.exception)
    return done.exit_code, done.stdout


def page(project: Path, *words: str) -> tuple[int, dict[str, Any]]:
    code, text = typed(project, "compare", "--migration", *words, "--json")
    return code, json.loads(text)


def test_a_model_that_writes_a_list_as_text_is_worse_and_the_page_says_where(project: Path) -> None:
    code, found = page(project, "m-old", "m-new")
    assert (1, "worse") == (code, found["standing"])
    assert {"variables"} == {one["part"] for one in found["attribution"]["changed"]}
    standings = {one["figure"]["metric"]: (one["decides"], one["check"]["standing"]) for one in found["figures"]}
    assert ((True, "worse"), (True, "worse")) == (standings["task_success"], standings["manner/brevity"])
    assert [False, False] == [standings[name][0] for name in ("cost_usd", "tokens")]
    assert standings["latency_s"][0]
    first = found["kinds"][0]
    assert ("invalid_arguments", "wrong_type", 0, 8) == (
        first["group"],
        first["kind"],
        first["trials_before"],
        first["trials_after"],
    )
    assert {"add": 8} == first["tools"]
    groups = [one["group"] for one in found["kinds"]]
    assert sorted(groups, key=["invalid_arguments", "failure_mode", "outcome"].index) == groups
    assert 8 == len(found["lost"])


def test_the_page_has_the_same_parts_in_a_terminal_and_as_markdown(project: Path) -> None:
    code, shown = typed(project, "compare", "--migration", "m-old", "m-new")
    assert 1 == code
    assert "worse: task_success, manner/brevity" in shown
    assert "invalid arguments: wrong type" in shown
    assert "tool add: invalid arguments: wrong type (8)" in shown
    code, text = typed(project, "compare", "--migration", "m-old", "m-new", "--format", "markdown")
    assert 1 == code
    assert "| invalid arguments: wrong type | 0 of 8 | 8 of 8 | new | 0.0" in text
    assert "- tool add: invalid arguments: wrong type (8)" in text
    assert "sum-1/1 now fails" in text


def test_the_same_model_again_is_at_parity_where_every_margin_is_wide(project: Path) -> None:
    margins = ("--no-worse-than", "task_success=0.5", "--no-worse-than", "latency_s=100000%")
    code, found = page(project, "m-old", "repeated", *margins)
    assert (0, "parity", [], []) == (code, found["standing"], found["kinds"], found["lost"])
    assert ["rubric manner: run repeated was not judged by it"] == found["left_out"]


def test_what_no_run_measured_decides_only_where_a_margin_is_typed_for_it(project: Path) -> None:
    margins = ("--no-worse-than", "task_success=0.5", "--no-worse-than", "latency_s=100000%")
    code, found = page(project, "m-old", "repeated", *margins, "--no-worse-than", "cost_usd=10%")
    assert (3, "cannot_tell") == (code, found["standing"])


def test_a_domain_takes_a_margin_of_its_own(project: Path) -> None:
    _, found = page(project, "m-old", "m-new", "--no-worse-than", "manner/brevity=1")
    own = next(one["check"] for one in found["figures"] if one["figure"]["metric"] == "manner/brevity")
    assert (1.0, "parity") == (own["margin"], own["standing"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("m-old", "m-new", "--no-worse-than", "manner/brevty=0"), "did you mean 'manner/brevity'"),
        (("m-old", "m-new", "--no-worse-than", "task_success"), "expected METRIC=MARGIN"),
        (("baseline:sums", "m-new"), "a baseline stores no trials"),
        (("m", "m-new"), "'m' is a matrix of several runs"),
    ],
)
def test_what_cannot_be_compared_is_refused(project: Path, words: tuple[str, ...], told: str) -> None:
    code, text = typed(project, "compare", "--migration", *words)
    assert 2 == code
    assert told in text
