"""Agents that make their checks unable to tell, through the command line: no gate takes it for a pass."""

import json
import re

import pytest

from tests.walks.conftest import Walk, WriteSuite

HONEST = """\
import json, os, urllib.request
def say(text):
    url = os.environ["HARNESS_GATEWAY_URL"] + "/reply"
    urllib.request.urlopen(urllib.request.Request(url, json.dumps({"message": text}).encode(), method="POST"))
open("report.txt", "w").write("ok")
say("aaa")
"""
HIDING = (
    HONEST.replace('say("aaa")\n', "")
    + """\
with open("hole", "wb") as hole:
    hole.truncate(1 << 40)
say("a" * 60 + "!")
"""
)
CASES = """\
- id: answer
  task: x
  checks: [{name: only a, verifier: final_answer, with: {regex: "^(a+)+$"}}]
- id: files
  task: x
  checks: [{name: left, verifier: files, with: {added: [report.txt], allow: [hole]}}]
"""


@pytest.mark.slow
def test_hiding_from_the_checks_is_lost_in_the_gate_of_the_baseline(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": HONEST})
    run = ("run", "s", "--sandbox", "local", "--run-name")
    walk(*run, "honest")
    walk("baseline", "honest")
    walk(*run, "same", "--against-baseline")

    (walk.folder / "suites/s/agent/main.py").write_text(HIDING)
    gated = walk(*run, "hiding", "--against-baseline", "--fail-under", "task_success=0.5", status=1)
    assert "0/2 passed = 0 %" in gated.stdout
    assert "lost answer/1" in gated.stdout
    assert "lost files/1" in gated.stdout
    compared = json.loads(walk("compare", "honest", "hiding", "--json").stdout)
    assert 2 == compared["success"]["worse"]
    walk("compare", "honest", "hiding", "--no-worse-than", "task_success=0.05", status=3)  # of two cases nobody can say
    refused = walk("compare", "honest", "hiding", "--no-worse-than", "task_sucess=0.05", status=2)
    assert "'task_success'" in refused.stderr
    assert not refused.stdout


TOOL = """\
servers: {shop: {base_url: "http://127.0.0.1:9"}}
tools:
  - name: find
    effect: read
    server: shop
    http: {path: /find}
    parameters: {type: object, properties: {n: {type: integer}}}
"""
CALLING = (
    HONEST
    + """\
from urllib.error import HTTPError
for n in range(3):
    url = os.environ["HARNESS_GATEWAY_URL"] + "/tools/find"
    try:
        urllib.request.urlopen(urllib.request.Request(url, json.dumps({"n": n}).encode(), method="POST"))
    except HTTPError as error:
        assert 424 == error.code
"""
)
MISSING = """\
- {id: budget, task: x, limits: {misses: 2}, checks: &k [{name: only a, verifier: final_answer, with: {regex: "^a+$"}}]}
- {id: within, task: x, limits: {misses: 3}, checks: *k}
- {id: any, task: x, checks: *k}
"""


@pytest.mark.slow
def test_calls_without_a_recording_fail_the_case_that_allows_fewer(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(TOOL, MISSING, {"main.py": CALLING})
    told = walk.summary("run", "s", "--sandbox", "local", "--run-name", "r", status=1)
    assert (2, 1) == (told["counts"]["inconclusive"], told["counts"]["limit_reached"])
    assert (0, 1, 2) == tuple(told["success"][name] for name in ("successes", "n", "unknown"))
    assert re.search(r"\b3\b.*`limits\.misses: 2`", walk.trial("r", "budget")["reason"])
    walk(
        "run",
        "s",
        "--sandbox",
        "local",
        "--case",
        "budget",
        "--max-inconclusive",
        "9",
        "--fail-under",
        "task_success=1",
        status=1,
    )
