"""Runs that are stopped, and go on."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.walks.conftest import Walk, WriteSuite

SLOW = """\
import json, os, time, urllib.request
time.sleep(0.4)
url = os.environ["HARNESS_GATEWAY_URL"] + "/reply"
urllib.request.urlopen(urllib.request.Request(url, json.dumps({"message": "done"}).encode(), method="POST",
                                              headers={"Content-Type": "application/json"}))
"""
CASES = "".join(f"- {{id: case-{number}, task: wait}}\n" for number in range(8))
CHECKS = "checks:\n  - {name: answered, verifier: final_answer, with: {contains: done}}\n"


def committed(walk: Walk, run: str) -> list[Path]:
    return sorted((walk.folder / "runs" / run / "trials").glob("*/1/trial.json"))


def wait_for_trials(walk: Walk, run: str, count: int) -> None:
    until = time.monotonic() + 60
    while len(committed(walk, run)) < count:
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_goes_on_and_runs_no_finished_trial_again(
    walk: Walk, write_suite: WriteSuite, how: signal.Signals
) -> None:
    write_suite(CHECKS, CASES, {"main.py": SLOW})
    process = walk.start("run", "s", "--run-name", "stopped", "--jobs", "1")
    wait_for_trials(walk, "stopped", 2)
    os.kill(process.pid, how)
    output, _ = process.communicate(timeout=90)
    assert (130 if how is signal.SIGINT else -signal.SIGKILL) == process.returncode, output
    before = {path: path.stat().st_mtime_ns for path in committed(walk, "stopped")}
    assert 2 <= len(before) < 8
    walk("run", "--resume", "stopped")
    assert 8 == len(committed(walk, "stopped"))
    assert before == {path: path.stat().st_mtime_ns for path in before}
    walk("run", "s", "--run-name", "undisturbed")
    assert walk.scorecards("undisturbed") == walk.scorecards("stopped")


@pytest.mark.slow
@pytest.mark.docker
def test_nothing_is_left_running_after_a_kill(walk: Walk, write_suite: WriteSuite) -> None:
    from harness.sandbox.engine import connect

    write_suite(CHECKS, CASES.replace("wait", "w"), {"main.py": "import time\ntime.sleep(60)\n"})
    process = walk.start("run", "s", "--run-name", "killed-away", "--jobs", "2")
    client = connect()
    mine = {"label": "harness.run=killed-away"}
    try:
        until = time.monotonic() + 60
        while len(client.api.containers(filters=mine)) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        process.kill()
        process.communicate(timeout=60)
        until = time.monotonic() + 60
        while client.api.containers(all=True, filters=mine) and time.monotonic() < until:
            time.sleep(0.05)
        assert [] == client.api.containers(all=True, filters=mine)
    finally:
        client.close()


@pytest.mark.slow
@pytest.mark.docker
def test_a_run_does_not_go_on_with_another_agent(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(CHECKS, CASES, {"main.py": SLOW})
    walk("run", "s", "--run-name", "first", "--case", "case-0")
    write_suite(CHECKS, CASES, {"main.py": SLOW + "# edited\n"})
    refused = walk("run", "--resume", "first", status=2)
    assert "agent_digest changed" in refused.stderr
