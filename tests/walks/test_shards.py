"""A run divided over machines is, once merged, what one machine would have written."""

import json

import pytest

from tests.walks.conftest import Walk, WriteSuite

CASES = "".join(f"- {{id: {name}, task: Say nothing.}}\n" for name in "abc")
CHECKS = "checks:\n  - {name: answered, verifier: final_answer, with: {contains: done}}\n"
ANSWERS = """\
import json, os, urllib.request
url = os.environ["HARNESS_GATEWAY_URL"] + "/reply"
urllib.request.urlopen(urllib.request.Request(url, json.dumps({"message": "done"}).encode(), method="POST",
                                              headers={"Content-Type": "application/json"}))
"""


@pytest.mark.slow
def test_a_merged_run_is_the_run_of_one_machine_and_nothing_else_is_merged(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(CHECKS, CASES, {"main.py": ANSWERS})
    common = ("run", "s", "--sandbox", "local", "--trials", "2", "--jobs", "2")
    walk(*common, "--run-name", "whole")
    for number in (1, 2):
        walk(*common, "--shard", f"{number}/2", "--run-name", f"part-{number}")

    walk("merge", "part-2", "part-1", "--run-name", "merged")
    assert walk.scorecards("whole") == walk.scorecards("merged")
    runs = walk.folder / "runs"
    whole, merged = (json.loads((runs / name / "manifest.json").read_text()) for name in ("whole", "merged"))
    own = {"run": "", "created": ""}
    assert whole | own == merged | own

    for parts, problem in (
        (("part-1",), "shard 2/2 is missing"),
        (("part-1", "part-1"), "given twice"),
        (("part-1", "whole"), "not a shard"),
    ):
        assert problem in walk("merge", *parts, "--run-name", "again", status=2).stderr
    trial = runs / "part-2" / "trials" / "a" / "2" / "trial.json"
    trial.write_bytes(trial.read_bytes() + b" ")
    assert "trial.json" in walk("merge", "part-1", "part-2", "--run-name", "again", status=3).stderr
    assert not (runs / "again").exists()


@pytest.mark.slow
def test_a_shard_of_nothing_is_a_run_too(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite("", "- {id: a, task: Say nothing.}\n", {"main.py": "print('done')\n"})
    walk("run", "s", "--sandbox", "local", "--run-name", "whole")
    walk("run", "s", "--sandbox", "local", "--shard", "2/2", "--run-name", "empty")
    assert "3/2" in walk("run", "s", "--shard", "3/2", status=2).stderr
