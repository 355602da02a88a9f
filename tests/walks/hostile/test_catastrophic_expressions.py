"""Expressions of a suite that never end on what an agent says, through the command line: every run ends."""

import json
import re
import time
from collections.abc import Iterator

import pytest

from tests.walks.conftest import Walk, WriteSuite

AGENT = """\
import json, os, urllib.request
URL = os.environ["HARNESS_GATEWAY_URL"]
while True:
    with urllib.request.urlopen(URL + "/turn") as response:
        if response.status == 204:
            break
        text = json.load(response)["message"]
    said = json.dumps({"message": text}).encode()
    urllib.request.urlopen(urllib.request.Request(URL + "/reply", said, method="POST"))
"""

CASES = """\
- id: user
  task: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"
  conversation:
    turns:
      - {when: {regex: "(a|a)+$"}, say: "no"}
- id: check
  task: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"
  checks: [{name: only a, verifier: final_answer, with: {regex: "^(a|a)+$"}}]
- id: plain
  task: "aaa"
  checks: [{name: only a, verifier: final_answer, with: {regex: "^(a|a)+$"}}]
"""


@pytest.fixture(autouse=True)
def _soon() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 60


@pytest.mark.slow
def test_a_run_ends_and_says_which_expression_and_what_to_do(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", CASES, {"main.py": AGENT})
    told = walk("run", "s", "--sandbox", "local", "--run-name", "r", "--jobs", "1", status=3).stdout

    failed = walk.trial("r", "user")
    assert "harness_failed" == failed["outcome"]
    assert re.search(r"conversation\.turns\[0\]\.when\.regex: '\(a\|a\)\+\$'.*\b53\b", failed["reason"])
    assert "conversation.turns[0].when.regex" in told
    verdicts = {
        name: json.loads(walk.scorecards("r")[f"{name}/1/scorecard.json"])["verdicts"][0] for name in ("check", "plain")
    }
    assert {"check": False, "plain": True} == {name: verdict["passed"] for name, verdict in verdicts.items()}
    assert "regex: '^(a|a)+$'" in verdicts["check"]["reason"]
