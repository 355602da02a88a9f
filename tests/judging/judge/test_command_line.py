"""The commands as they are typed, over a stored run and a served rule model."""

import json
import sys
from pathlib import Path

import pytest

from harness.cli.main import main
from qa.doubles.rule_model import RuleModel
from tests.judging.judge.material import MIND, dialogue

RUBRIC = """\
name: prices
criteria:
  - {id: grounded, statement: The price is the one that a result gives., evidence: [claims], critical: true, points: 3}
  - {id: polite, statement: The tone is polite., evidence: [conversation]}
"""


class Shell:
    """Types commands in a project: the program's own entry, in this process."""

    def __init__(self, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._project = project
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *words: str, status: int = 0) -> str:
        """Standard output; for a command that fails what it says on standard error."""
        self._monkeypatch.setattr(sys, "argv", ["harness", "--project", str(self._project), *words])
        with pytest.raises(SystemExit) as ended:
            main()
        told = self._capsys.readouterr()
        assert status == ended.value.code, told
        return told.err if status > 1 else told.out


@pytest.fixture
def shell(tmp_path, stored_run, monkeypatch, capsys):
    stored_run({"right": dialogue("It costs 2.19."), "wrong": dialogue("It costs 9.99.")})
    (tmp_path / "prices.yaml").write_text(RUBRIC)
    return Shell(tmp_path, monkeypatch, capsys)


def test_a_run_is_judged_shown_and_reported(shell, rule_model, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", rule_model.url)
    words = ("--rubric", str(tmp_path / "prices.yaml"), "--model", "rule-model")
    done = json.loads(shell("judge", "run", "run", *words, "--json"))
    assert {"pass": 3, "fail": 1} == done["judged"]["answers"]
    assert 0.5 == done["scores"][0]["pass_rate"]
    assert "0 judged now" in shell("judge", "run", "run", *words)
    assert "judged by prices" in shell("report", "run")
    assert 4 == rule_model.requests


def test_a_failed_judge_exits_1_and_an_unknown_rubric_2(shell, tmp_path, monkeypatch):
    words = ("--model", "rule-model", "--rubric")
    with RuleModel(MIND, faults={"polite": "refusal"}) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        shell("judge", "run", "run", *words, str(tmp_path / "prices.yaml"), status=1)
        assert "shopping, tool_agent" in shell("judge", "run", "run", *words, "nothing", status=2)


def test_a_transcript_is_printed_in_views(shell):
    whole = shell("explain", "run", "right", "--transcript", "everything")
    assert "agent: It costs 2.19." in whole
    assert "2.19" not in shell("explain", "run", "right", "--transcript", "request")
    assert "calls:<pattern" in shell("explain", "run", "right", "--transcript", "wishes", status=2)
    assert "its cases: right, wrong" in shell("explain", "run", "nowhere", "--transcript", "everything", status=2)


def test_prompts_are_listed_shown_and_labelled(shell, tmp_path):
    folder = tmp_path / "prompts" / "judge"
    folder.mkdir(parents=True)
    (folder / "2.md").write_text("Judge strictly.")
    shell("judge", "prompts", "judge@2", "--label", "production")
    assert "Judge strictly." == shell("judge", "prompts", "judge@2").strip()
    listed = shell("judge", "prompts", "judge").splitlines()
    assert ["judge@1", "judge@2"] == [line.split()[0] for line in listed]
    assert listed[1].endswith("project  production")
    assert "there is no prompt 'jugde'" in shell("judge", "prompts", "jugde", status=2)
    assert "give NAME@VERSION" in shell("judge", "prompts", "judge", "--label", "candidate", status=2)


def test_rubrics_are_listed_and_checked(shell, tmp_path):
    assert "100 points" in shell("judge", "rubrics")
    assert "grounded (3, llm, critical)" in shell("judge", "rubrics", str(tmp_path / "prices.yaml"))
