"""How a trial ends, who is charged for it, what is tried again, and what a gate makes of it: the table of outcomes."""

import ast
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from docker.models.containers import Container

from harness.runs.store.folder import RunFolder
from harness.sandbox.engine import connect
from harness.traces.outcomes import MEASURED, Cause, Outcome
from tests.docs.outcomes import TESTS
from tests.docs.surface import ROOT
from tests.drift.conftest import Project, first_release
from tests.drift.shop import Shop, open_shop
from tests.walks.conftest import Walk, WriteSuite, walk, write_suite  # noqa: F401 - fixtures

MAIN = """
import ctypes, os, time, urllib.request

gateway = os.environ["HARNESS_GATEWAY_URL"]
asked = __import__("json").loads(urllib.request.urlopen(gateway + "/turn").read())["message"]
if asked == "fill":  # what System V keeps, in as many segments as there may be, and memory beside it
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    while (segment := libc.shmget(0, ctypes.c_size_t(4 << 20), 0o600)) >= 0:
        ctypes.memset(libc.shmat(segment, None, 0), 120, 4 << 20)
    for _ in range(20):
        if os.fork() == 0:
            held = []
            while True:
                held.append(os.urandom(65536))
elif asked == "hog":
    if os.fork() == 0:
        held = [os.urandom(1 << 20) for _ in range(2000)]
    time.sleep(15)
elif asked == "wait":
    time.sleep(15)
print("done")
"""
REST = """\
checks:
  - {name: answered, verifier: final_answer, with: {regex: "done"}}
limits: {seconds: 30, memory_mb: 64}
"""


def test_each_row_of_the_table_has_its_tests_and_each_outcome_a_row() -> None:
    assert set(Cause) == set(TESTS)
    assert set(get_args(Outcome)) - {"finished"} == {cause.outcome for cause in Cause if cause.outcome}
    for named in TESTS.values():
        file, _, name = named.partition("::")
        functions = {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if hasattr(node, "name")}
        assert name in functions, named


def test_nothing_that_an_agent_can_cause_is_tried_again_or_passes_a_gate() -> None:
    for cause in Cause:
        if "agent" in cause.by:
            assert not cause.is_tried_again, cause
            assert cause.outcome in MEASURED or cause.counts_as_failed, cause


def ended_while(act: Callable[[Container], object], trial: str, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The summary of a run during which `act` is done to the container of a trial, once."""

    def once() -> None:
        client, until = connect(), time.monotonic() + 90
        while time.monotonic() < until:
            for container in client.containers.list(filters={"label": f"harness.trial={trial}"}):
                time.sleep(4)  # its agent has begun
                act(container)
                until = 0.0
            time.sleep(0.1)
        client.close()

    thread = threading.Thread(target=once)
    thread.start()
    try:
        return run()
    finally:
        thread.join()


@pytest.mark.slow
@pytest.mark.docker
def test_what_no_agent_can_cause_is_tried_again_and_named(walk: Walk, write_suite: WriteSuite) -> None:  # noqa: F811
    write_suite(REST, "- {id: c, task: wait}\n", {"main.py": MAIN})
    summary = ended_while(lambda one: one.kill(), "r.c.1", lambda: walk.summary("run", "s", "--run-name", "r"))
    assert 1 == summary["counts"]["finished"]
    ((case, reason),) = [(one["case_id"], one["reason"]) for one in summary["retried"]]
    assert ("c", True) == (case, "137" in reason)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["docker", "docker-warm"])
def test_filling_the_memory_is_never_tried_again(walk: Walk, write_suite: WriteSuite, sandbox: str) -> None:  # noqa: F811
    write_suite(REST, "- {id: c, task: fill}\n", {"main.py": MAIN})
    summary = walk.summary("run", "s", "--run-name", "filled", "--sandbox", sandbox)
    assert (1, []) == (summary["counts"]["planned"] - summary["counts"]["harness_failed"], summary["retried"])


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with open_shop(first_release()) as shop:
        made = Project(tmp_path, shop)
        cases: dict[str, list[list[Any]]] = {f"c{number}": [["get_item", {"id": 1}]] for number in range(4)}
        made.write(cases, checks=[{"name": "right", "verifier": "final_answer", "with": {"regex": "Biscuit"}}])
        made.record()
        yield made


def rewritten(project: Project, case: str, calls: list[list[Any]]) -> None:
    cases = project.suite / "cases.json"
    listed = [one | ({"task": json.dumps(calls)} if one["id"] == case else {}) for one in json.loads(cases.read_text())]
    cases.write_text(json.dumps(listed))


def run(project: Project, name: str, *more: str, status: int = 0) -> str:
    return project.type("run", "s", "--sandbox", "local", "--run-name", name, *more, status=status)


def gated(project: Project, gates: dict[str, Any]) -> None:
    suite = project.suite / "suite.yaml"
    suite.write_text(json.dumps(json.loads(suite.read_text()) | {"gates": gates}))


def test_two_allowances_together_hide_no_failure(project: Project) -> None:
    rewritten(project, "c1", [["get_item", {"id": 99}]])  # a replay miss in the place of a failure
    gated(project, {"fail_under": {"task_success": 0.9}, "allow_unmeasured": 1, "max_inconclusive": 1})
    assert "below 90 %" in run(project, "hidden", status=1)
    gated(project, {"fail_under": {"task_success": 0.75}, "allow_unmeasured": 1, "max_inconclusive": 1})
    run(project, "allowed")
    gated(project, {})
    assert "below 0.75" not in project.type("run", "--resume", "allowed", "--sandbox", "local")
    project.type("run", "--resume", "hidden", "--sandbox", "local", status=1)
    project.type("run", "--resume", "hidden", "--sandbox", "local", "--fail-under", "task_success=0", status=2)


def test_misses_beyond_the_limit_of_the_case_are_a_failure(project: Project) -> None:
    rewritten(project, "c1", [["get_item", {"id": 99}]])
    suite = project.suite / "suite.yaml"
    suite.write_text(json.dumps(json.loads(suite.read_text()) | {"limits": {"seconds": 60, "misses": 0}}))
    run(project, "r")
    found = {one.trial.case_id: one.trial for one in RunFolder.open(project.folder / "runs" / "r").trials()}
    assert ("limit_reached", "many_misses") == (found["c1"].outcome, found["c1"].cause)


def test_a_baseline_is_of_the_whole_suite(project: Project) -> None:
    run(project, "one", "--case", "c1")
    with pytest.raises(AssertionError, match="leaves out 3 cases"):
        project.type("baseline", "one")
    project.type("baseline", "one", "--allow-unmeasured", "3")
    said = run(project, "whole", "--against-baseline", status=3)
    assert "does not cover 3 cases" in " ".join(said.split())
    run(project, "part", "--case", "c1", "--against-baseline")
    project.type("baseline", "whole")
    run(project, "held", "--against-baseline")


def test_a_launcher_that_dies_under_the_agent_is_not_tried_again(tmp_path: Path) -> None:
    """The agent ends the launcher of a sandbox that does not isolate: nobody but it can have done so."""
    project = Project(tmp_path, Shop(url="http://127.0.0.1:9"))
    project.write({"c": []}, tools=[], servers={})
    (project.suite / "agent" / "agent.py").write_text("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n")
    said = run(project, "r", "--json", status=3)
    summary = json.loads(said[said.index("{\n") :])
    assert (1, []) == (summary["counts"]["harness_failed"], summary["retried"])
    assert 1 == summary["counts"]["held_against"]
