"""The local executor keeps the promises of an executor: each trial once, and nothing goes on after a stop."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunOptions, RunPlan
from harness.runs.plan.planning import plan_of
from harness.runs.store.folder import RunFolder
from harness.scoring.scorecard import Scorecard
from harness.traces.trial import Trial

_CASES: Final = 4
_ATTEMPTS: Final = 2
_SETTLED_S: Final = 1.5
"""Longer than a trial of these tests takes: what still ran would have ended by then."""

_SUITE = """\
agents: {v1: {files: agents/v1, command: [python3, "{agent}/main.py"]}}
cases: cases.yaml
"""
_AGENT = """\
import json, os, sys, time, urllib.request

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(os.environ["HARNESS_GATEWAY_URL"] + path, data)) as answer:
        return json.loads(answer.read() or b"null")

task = ask("/turn")["message"]
time.sleep(0.3)
if task == "Crash.":
    sys.exit(3)
ask("/reply", {"message": task.upper()})
"""


class _Stopped(Exception):
    """Ends a run from outside."""


@pytest.fixture
def plan(tmp_path: Path) -> RunPlan:
    suite = tmp_path / "suites" / "small"
    (suite / "agents" / "v1").mkdir(parents=True)
    (suite / "suite.yaml").write_text(_SUITE)
    (suite / "agents" / "v1" / "main.py").write_text(_AGENT)
    cases = [f"- {{id: case-{number}, task: Say {number}.}}\n" for number in range(1, _CASES)]
    (suite / "cases.yaml").write_text("".join(["- {id: crash, task: Crash.}\n", *cases]))
    options = RunOptions(suite="small", sandbox="local", executor="local", trials=_ATTEMPTS, jobs=2, run_name="one")
    return plan_of(tmp_path, options)


def test_every_planned_trial_is_committed_once_and_what_an_agent_does_wrong_is_data(plan: RunPlan) -> None:
    finished = list[tuple[str, int]]()
    folder = run_plan(plan, Watch(finished=lambda trial, _: finished.append((trial.case_id, trial.attempt))))
    assert _planned(plan) == sorted(finished)
    assert _planned(plan) == sorted(folder.finished())
    outcomes = {(card.case_id, card.outcome) for card in folder.scorecards()}
    assert {("crash", "agent_failed"), *((f"case-{number}", "finished") for number in range(1, _CASES))} == outcomes


def test_a_run_that_is_stopped_leaves_nothing_running_and_can_go_on(plan: RunPlan) -> None:
    path = plan.runs / "one"
    with pytest.raises(_Stopped):
        run_plan(plan, Watch(finished=_stop))
    before = RunFolder.open(path).finished()
    assert 0 < len(before) < _CASES * _ATTEMPTS
    time.sleep(_SETTLED_S)
    assert before == RunFolder.open(path).finished()

    again: set[tuple[str, int]] = set()
    resumed = replace(plan, resumes=path)
    folder = run_plan(resumed, Watch(finished=lambda trial, _: again.add((trial.case_id, trial.attempt))))
    assert set() == again & before
    assert _planned(plan) == sorted(folder.finished())


def _stop(_trial: Trial, _card: Scorecard) -> None:
    raise _Stopped


def _planned(plan: RunPlan) -> list[tuple[str, int]]:
    return sorted((one.case_id, one.attempt) for one in plan.own)
