"""Nodes of a cluster compare with the reference states that the driver has obtained."""

import json

import pytest

from tests.runs.ray.conftest import RayCluster
from tests.walks.conftest import Walk, WriteSuite

pytestmark = [pytest.mark.docker, pytest.mark.slow]

SUITE = """\
tools:
  - sandbox: [write_file]
checks: [{name: same, verifier: reference_state, with: {files: ["**"]}}]
"""
CASES = """\
- {id: same, task: "hello", reference: [{id: one, tool: write_file, arguments: {path: a.txt, content: hello}}]}
- {id: other, task: "hello", reference: [{id: one, tool: write_file, arguments: {path: a.txt, content: other}}]}
"""
WRITES = """\
import json, os, urllib.request
url = os.environ["HARNESS_GATEWAY_URL"]
task = json.load(urllib.request.urlopen(url + "/turn"))["message"]
body = json.dumps({"path": "a.txt", "content": task}).encode()
urllib.request.urlopen(urllib.request.Request(url + "/tools/write_file", body, {"Content-Type": "application/json"}))
urllib.request.urlopen(urllib.request.Request(url + "/reply", b'{"message": "done"}'))
"""


def test_a_reference_is_played_by_the_driver_alone(walk: Walk, write_suite: WriteSuite, cluster: RayCluster) -> None:
    write_suite(SUITE, CASES, {"main.py": WRITES})
    words = ("--executor", "ray", "--sandbox", "local", "--run-name", "spread")

    said = walk("run", "s", *words).stderr

    assert "reference states: 2 to play, 0 stored" in said
    cards = [json.loads(card) for card in walk.scorecards("spread").values()]
    assert {"same": True, "other": False} == {card["case_id"]: card["success"] for card in cards}
    assert "/work/a.txt " in cards[0]["verdicts"][0]["reason"]
