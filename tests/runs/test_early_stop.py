"""`--stop-early`: a run that ends when its success rate is known well enough."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError

SUITE = """\
agents: {v1: {command: [python3, "{agent}/agent.py"], files: agent}}
cases: cases.yaml
checks: [{name: said, verifier: final_answer, with: {contains: right}}]
"""
AGENT = """\
import json, os, urllib.request as http
gateway = os.environ["HARNESS_GATEWAY_URL"]
task = http.urlopen(gateway + "/turn").read().decode()
word = "right" if "good" in task else "wrong"
http.urlopen(http.Request(gateway + "/reply", json.dumps({"message": word}).encode()))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "agent" / "agent.py").write_text(AGENT)
    tasks = ["good", "good", "good", "bad"]
    (folder / "cases.yaml").write_text(json.dumps([{"id": f"c{n}", "task": task} for n, task in enumerate(tasks)]))
    return tmp_path


def ran(project: Path, *words: str) -> tuple[int, dict]:
    command = ["--project", str(project), "run", *words, "--sandbox", "local", "--json", "-j", "2"]
    done = CliRunner().invoke(harness, command)
    if isinstance(done.exception, UsageError):
        return 2, {"error": done.exception.message}
    return done.exit_code, json.loads(done.stdout)


def test_a_run_that_is_sure_leaves_out_the_rest_and_a_resumed_one_makes_it(project):
    words = ("s", "--trials", "5", "--stop-early", "--fail-under", "task_success=0.2", "--run-name", "r")
    code, summary = ran(project, *words)
    counts = summary["counts"]
    made = counts["finished"]
    assert code == 0
    assert 8 <= made < 20
    assert (counts["left_out"], counts["not_run"]) == (20 - made, 0)
    assert "95 %" in summary["stopped"]
    assert "at least 0.2" in summary["stopped"]
    _, summary = ran(project, "--resume", "r")
    assert (summary["counts"]["finished"], summary["counts"]["left_out"], summary["stopped"]) == (20, 0, None)


def test_a_run_that_is_sure_to_fail_its_gate_exits_1(project):
    code, summary = ran(project, "s", "--trials", "3", "--stop-early", "--fail-under", "task_success=0.999")
    assert code == 1
    assert summary["counts"]["left_out"] > 0
    assert "below 0.999" in summary["stopped"]


def test_a_run_that_is_never_sure_makes_every_trial(project):
    _, summary = ran(project, "s", "--trials", "2", "--stop-early", "--fail-under", "task_success=0.75")
    assert (summary["counts"]["finished"], summary["counts"]["left_out"], summary["stopped"]) == (8, 0, None)


def test_a_shard_does_not_decide_for_the_run(project):
    code, told = ran(project, "s", "--shard", "1/2", "--stop-early")
    assert code == 2
    assert re.search("--stop-early.*--shard", told["error"])
