"""A run on the nodes of a Ray cluster is what one machine would have written, whatever becomes of a node."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from harness.sandbox.engine import connect
from tests.gateway.models.model_server import serve_models
from tests.runs.ray.conftest import RayCluster
from tests.walks.adder import ADDER
from tests.walks.conftest import Walk, WriteSuite
from tests.walks.recordings.test_models import CASES as MODEL_CASES
from tests.walks.recordings.test_models import SUITE, WITH_KEY, add
from tests.walks.test_stopping import committed

pytestmark = [pytest.mark.docker, pytest.mark.slow]

AGENT = """\
import json, os, time, urllib.request
open("left.txt", "w").write("behind")
time.sleep(2)
url = os.environ["HARNESS_GATEWAY_URL"] + "/reply"
urllib.request.urlopen(urllib.request.Request(url, json.dumps({"message": "done"}).encode(), method="POST",
                                              headers={"Content-Type": "application/json"}))
"""
CASES = "".join(f"- {{id: case-{number}, task: wait}}\n" for number in range(8))
CHECKS = "checks:\n  - {name: answered, verifier: final_answer, with: {contains: done}}\n"


def containers(run: str) -> list[object]:
    client = connect()
    try:
        found: list[object] = client.api.containers(all=True, filters={"label": f"harness.run={run}"})
        return found
    finally:
        client.close()


def wait_until(holds: Callable[[], bool]) -> None:
    """A cluster's processes take their time on a busy machine."""
    until = time.monotonic() + 240
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)


@contextmanager
def started(walk: Walk, *words: str) -> Iterator[subprocess.Popen[str]]:
    with walk.start(*words) as process:
        try:
            yield process
        finally:
            process.kill()


def on(cluster: RayCluster, *words: str) -> tuple[str, ...]:
    return ("run", "s", "--executor", "ray", *words)


def kept(scorecards: dict[str, bytes]) -> dict[str, bytes]:
    """Without those of tries that the harness could not finish."""
    return {place: card for place, card in scorecards.items() if ".failed-" not in place}


def test_nodes_share_one_budget_of_live_calls(walk: Walk, write_suite: WriteSuite, cluster: RayCluster) -> None:
    with serve_models(host=cluster.host) as server:
        server.think = add
        write_suite(SUITE.format(url=server.url), MODEL_CASES, {"main.py": ADDER})
        words = on(cluster, "--sandbox", "local", "--jobs", "1", "--live", "model", "--run-name", "short")
        summary = walk.summary(*words, "--budget", "tokens=300", status=3, env=WITH_KEY)
        asked = len(server.seen)
        resumed = walk.summary("run", "--resume", "short", env=WITH_KEY)  # on this machine
    assert "of 300 tokens spent" in summary["unmeasured"][0]["reason"]
    assert 3 <= asked <= 4  # 110 tokens a call: the third is the last, and one may be under way on the other node
    assert 4 == resumed["counts"]["finished"]


def test_a_node_that_is_lost_costs_its_trials_one_retry_and_no_result(
    walk: Walk, write_suite: WriteSuite, cluster: RayCluster
) -> None:
    write_suite(CHECKS, CASES, {"main.py": AGENT})
    walk("run", "s", "--run-name", "local", "--jobs", "4")
    with started(walk, *on(cluster, "--run-name", "spread", "--jobs", "2")) as process:
        wait_until(lambda: len(committed(walk, "spread")) >= 1)
        cluster.lose(0)
        output, _ = process.communicate(timeout=300)
    assert 0 == process.returncode, output
    assert "2 nodes are ready" in output
    assert walk.scorecards("local") == kept(walk.scorecards("spread"))
    failed = sorted((walk.folder / "runs" / "spread" / "trials").glob("*/1.failed-1/trial.json"))
    assert 1 <= len(failed) <= 2
    assert all("was lost while the trial ran" in path.read_text() for path in failed)
    wait_until(lambda: not containers("spread"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_stopped_leaves_nothing_running_on_the_nodes(
    walk: Walk, write_suite: WriteSuite, cluster: RayCluster, how: signal.Signals
) -> None:
    write_suite(CHECKS, CASES, {"main.py": AGENT})
    run = f"stopped-{how.name}"
    with started(walk, *on(cluster, "--run-name", run, "--jobs", "2")) as process:
        wait_until(lambda: len(committed(walk, run)) >= 1)
        os.kill(process.pid, how)
        output, _ = process.communicate(timeout=300)
    if how is signal.SIGKILL:
        wait_until(lambda: not containers(run))
        return
    assert 130 == process.returncode, output
    assert [] == containers(run)
    assert [] == cluster.left()  # of what was lost or killed before, too: a run removes what dead ones have left
