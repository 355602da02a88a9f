"""`--with NAME=VALUE`: variables of an agent."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError
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


def summary_of(project: Path, *words: str) -> tuple[int, dict[str, Any]]:
    code, text = said(project, "run", *words, "--sandbox", "local", "--json")
    return code, json.loads(text)


def answers(project: Path, run: str) -> list[object]:
    return [stored.trial.trajectory.final_output for stored in RunFolder.open(project / "runs" / run).trials()]


def test_one_value_is_one_run_and_reaches_command_and_environment(project: Path) -> None:
    code, summary = summary_of(project, "s", "--with", "model=gpt-5", "--with", "tone=-0.5", "--run-name", "one")
    assert 0 == code
    assert {"model": "gpt-5", "tone": "-0.5"} == summary["manifest"]["variables"]
    assert ["gpt-5 -0.5", "gpt-5 -0.5"] == [str(one).strip() for one in answers(project, "one")]
    code, text = said(project, "run", "--resume", "one", "--with", "model=right")
    assert 2 == code
    assert "--with " in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("s", "--with", "modl=a"), "did you mean 'model'"),
        (("s", "--with", "model"), "expected NAME=VALUE"),
        (("s", "--with", "model="), "expected NAME=VALUE"),
        (("s", "--with", "model=a;b"), "invalid value 'a;b'"),
        (("s", "--with", "model=--help"), "invalid value '--help'"),
        (("s", "--with", "model=a", "--with", "model=b"), "'model' is given twice"),
        (("s", "--with", "model=a,b"), "invalid value 'a,b'"),
        (("s", "--agent", "nop", "--with", "model=a"), "suite 's' has no agent 'nop'"),
    ],
)
def test_what_cannot_be_is_refused_before_a_run_folder_exists(project: Path, words: tuple[str, ...], told: str) -> None:
    code, text = said(project, "run", *words, "--sandbox", "local")
    assert 2 == code
    assert told in text
    assert not (project / "runs").exists()


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
