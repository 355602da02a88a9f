"""`--with NAME=VALUE,...`: variables of an agent, and a run for each combination of their values."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError
from harness.runs.execution.matrix import begin_matrix
from harness.runs.execution.run import Watch as RunWatch
from harness.runs.execution.run import run_plan
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.runs.store.folder import RunFolder

SUITE = """\
agents:
  v1:
    command: [python3, "{agent}/main.py", "{model}"]
    files: agent
    env: {TONE: "{tone}"}
    answer: stdout
    variables: {model: right, tone: calm}
cases: cases.yaml
checks: [{name: said, verifier: final_answer, with: {contains: right}}]
"""
AGENT = """\
import os, sys
print(sys.argv[1], os.environ["TONE"])
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "agent" / "main.py").write_text(AGENT)
    (folder / "cases.yaml").write_text("- {id: a, task: Speak}\n- {id: b, task: Speak}\n")
    return tmp_path


def said(project: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(harness, ["--project", str(project), *words])
    if isinstance(done.exception, UsageError):
        return 2, str(done.exception)
    return done.exit_code, done.stdout


def table_of(project: Path, *words: str) -> tuple[int, dict[str, Any]]:
    code, text = said(project, "run", *words, "--sandbox", "local", "--json")
    return code, json.loads(text)


def answers(project: Path, run: str) -> list[object]:
    return [stored.trial.trajectory.final_output for stored in RunFolder.open(project / "runs" / run).trials()]


def test_one_value_is_one_run_and_reaches_command_and_environment(project: Path) -> None:
    code, summary = table_of(project, "s", "--with", "model=gpt-5", "--with", "tone=-0.5", "--run-name", "one")
    assert 0 == code
    assert {"model": "gpt-5", "tone": "-0.5"} == summary["manifest"]["variables"]
    assert ["gpt-5 -0.5", "gpt-5 -0.5"] == [str(one).strip() for one in answers(project, "one")]
    code, text = said(project, "run", "--resume", "one", "--with", "model=right")
    assert 2 == code
    assert "--with " in text


def test_several_values_are_a_run_each_and_one_table(project: Path) -> None:
    code, table = table_of(project, "s", "--with", "model=right,wrong", "--with", "tone=loud", "--run-name", "m")
    rows = table["rows"]
    assert (0, "m", ["model"], ["m-right", "m-wrong"]) == (
        code,
        table["matrix"]["name"],
        table["matrix"]["variables"],
        [row["run"] for row in rows],
    )
    assert [({"model": "right"}, 1.0, None), ({"model": "wrong"}, 0.0, -1.0)] == [
        (row["variables"], row["success"]["rate"], row["difference"] and row["difference"]["after"] - 1.0)
        for row in rows
    ]
    assert ["wrong loud", "wrong loud"] == [str(one).strip() for one in answers(project, "m-wrong")]
    code, shown = said(project, "report", "m", "--format", "markdown")
    assert "| wrong | 0 % |" in shown
    assert "run m-wrong, 2 of 2 trials measured" in shown


def test_variables_are_combined_and_gates_hold_for_each_run(project: Path) -> None:
    words = ("--with", "model=right,wrong", "--with", "tone=a,b", "--fail-under", "task_success=1", "--run-name", "m")
    code, text = said(project, "run", "s", "--case", "a", *words, "--sandbox", "local")
    assert 1 == code
    assert 2 == text.count("gate task_success >= 1: holds")
    assert 2 == text.count("gate task_success >= 1: fails")
    matrix = json.loads((project / "runs" / "m" / "matrix.json").read_text())
    assert ["m-right-a", "m-right-b", "m-wrong-a", "m-wrong-b"] == matrix["runs"]


def test_a_stopped_matrix_goes_on_as_one_and_touches_no_complete_run(project: Path) -> None:
    options = RunOptions(suite="s", variables=("model=right,wrong",), sandbox="local", run_name="m")
    begun = begin_matrix(project, options, lambda _: None)
    run_plan(begun.plans[0], RunWatch())
    made = {path: path.stat().st_mtime_ns for path in (project / "runs" / "m-right" / "trials").rglob("*.json")}
    assert ([], ["m-wrong"]) == (answers(project, "m-wrong"), [plan.name for plan in begun.unfinished])
    code, table = table_of(project, "--resume", "m")
    assert (0, [1.0, 0.0]) == (code, [row["success"]["rate"] for row in table["rows"]])
    assert made == {path: path.stat().st_mtime_ns for path in made}


def test_a_matrix_of_an_agent_that_changed_is_not_resumed(project: Path) -> None:
    options = RunOptions(suite="s", variables=("model=right,wrong",), sandbox="local", run_name="m")
    begin_matrix(project, options, lambda _: None)
    (project / "suites" / "s" / "agent" / "main.py").write_text(AGENT + "#\n")
    code, text = said(project, "run", "--resume", "m", "--sandbox", "local")
    assert 2 == code
    assert str(project / "runs" / "m") in text
    assert "agent_digest changed" in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("s", "--with", "modl=a"), "did you mean 'model'"),
        (("s", "--with", "model"), "expected NAME=VALUE"),
        (("s", "--with", "model=a,,b"), "expected NAME=VALUE"),
        (("s", "--with", "model=a;b"), "invalid value 'a;b'"),
        (("s", "--with", "model=--help"), "invalid value '--help'"),
        (("s", "--with", "model=a,a"), "names 'a' twice"),
        (("s", "--with", "model=a", "--with", "model=b"), "write model=a,b"),
        (("s", "--with", "model=" + ",".join(map(str, range(65)))), "at most 64"),
        (("s", "--agent", "nop", "--with", "model=a"), "suite 's' has no agent 'nop'"),
        (("s", "--with", "model=a,b", "--shard", "1/2"), "--shard divides one run"),
    ],
)
def test_what_cannot_be_is_refused_before_a_run_folder_exists(project: Path, words: tuple[str, ...], told: str) -> None:
    code, text = said(project, "run", *words, "--sandbox", "local")
    assert 2 == code
    assert told in text
    assert not (project / "runs").exists()


def test_a_taken_name_is_refused_and_leaves_nothing_begun(project: Path) -> None:
    (project / "runs" / "m-wrong").mkdir(parents=True)
    code, text = said(project, "run", "s", "--with", "model=right,wrong", "--run-name", "m", "--sandbox", "local")
    assert 2 == code
    assert "run 'm-wrong' already exists" in text
    assert ["m-wrong"] == [path.name for path in (project / "runs").iterdir()]


def test_a_matrix_is_named_where_a_run_is_expected(project: Path) -> None:
    begin_matrix(
        project, RunOptions(suite="s", variables=("model=a,b",), sandbox="local", run_name="m"), lambda _: None
    )
    code, text = said(project, "compare", "m", "m-a")
    assert 2 == code
    assert "'m' is a matrix" in text
    assert "m-a, m-b" in text


def test_a_program_makes_one_run_at_a_time(project: Path) -> None:
    with pytest.raises(UsageError, match="2 combinations"):
        plan_of(project, RunOptions(suite="s", variables=("model=a,b",)))


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ("{model: right, tone: calm, unused: x}", "the variable 'unused' is used nowhere"),
        ("{model: right, tone: calm, agent: x}", "the variable 'agent' has another meaning"),
        ('{model: "$(id)", tone: calm}', "variables.model"),
        ("{Model: right, tone: calm}", "Model"),
    ],
)
def test_a_wrong_declaration_is_told_with_its_place(project: Path, variables: str, told: str) -> None:
    path = project / "suites" / "s" / "suite.yaml"
    path.write_text(SUITE.replace("{model: right, tone: calm}", variables))
    code, text = said(project, "run", "s", "--sandbox", "local")
    assert 2 == code
    assert told in text
    assert "suite.yaml" in text
