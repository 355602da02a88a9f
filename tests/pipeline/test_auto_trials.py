"""`--trials auto`: trials are made until the difference from a stored run is decided."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import HarnessError, UsageError
from harness.report import found_in_pairs, reference_trials
from harness.results import RunFolder

SUITE = """\
agents:
  often: {command: [python3, "{agent}/agent.py", often, COUNTS], files: agent}
  always: {command: [python3, "{agent}/agent.py", always], files: agent}
  never: {command: [python3, "{agent}/agent.py", never], files: agent}
cases: cases.yaml
checks: [{name: said, verifier: final_answer, with: {contains: right}}]
"""
AGENT = """\
import json, os, sys, urllib.request as http
gateway = os.environ["HARNESS_GATEWAY_URL"]
task = http.urlopen(gateway + "/turn").read().decode()
right = "steady" in task or sys.argv[1] == "always"
if not right and sys.argv[1] == "often":  # each fourth time, counted in a file: no agent gets a trial's number
    with open(os.path.join(sys.argv[2], task), "a") as counted:
        counted.write(".")
        right = counted.tell() % 4 != 0
http.urlopen(http.Request(gateway + "/reply", json.dumps({"message": "right" if right else "wrong"}).encode()))
"""
TASKS = ["steady", "moody 1", "moody 2", "moody 3"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (tmp_path / "counts").mkdir()
    (folder / "suite.yaml").write_text(SUITE.replace("COUNTS", json.dumps(str(tmp_path / "counts"))))
    (folder / "agent" / "agent.py").write_text(AGENT)
    (folder / "cases.yaml").write_text(json.dumps([{"id": f"c{n}", "task": task} for n, task in enumerate(TASKS)]))
    return tmp_path


def ran(project: Path, *words: str) -> tuple[int, dict]:
    command = ["--project", str(project), "run", "s", *words, "--sandbox", "local", "--json", "-j", "2"]
    done = CliRunner().invoke(harness, command)
    if isinstance(done.exception, HarnessError):
        return 2, {"error": done.exception.message}
    return done.exit_code, json.loads(done.stdout)


def test_a_run_that_is_worse_ends_once_that_is_decided_and_exits_1(project):
    ran(project, "--agent", "always", "--tools", "live", "--trials", "12", "--run-name", "before")
    code, summary = ran(project, "--agent", "never", "--tools", "live", "--trials", "auto", "--against", "before")
    counts = summary["counts"]
    assert code == 1
    assert counts["left_out"] == 48 - counts["finished"] > 0
    assert "worse than before" in summary["stopped"]
    by_case = [
        len(list((project / "runs" / summary["manifest"]["run"] / "trials" / f"c{n}").iterdir())) for n in (0, 1)
    ]
    assert by_case[0] < by_case[1]
    assert summary["manifest"]["allocated_against"] == "before"


def test_replayed_trials_are_made_once(project):
    ran(project, "--trials", "3", "--run-name", "before")
    _, summary = ran(project, "--trials", "auto", "--against", "before")
    assert summary["counts"]["planned"] == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--trials", "auto"), "needs a run to compare with"),
        (("--trials", "auto", "--against-baseline"), "has no baseline"),
        (("--against", "before"), "--against needs --trials auto or --no-worse-than"),
        (
            ("--trials", "auto", "--against", "before", "--stop-early"),
            "--trials auto and --stop-early exclude each other",
        ),
        (
            ("--trials", "auto", "--against", "before", "--quarantine"),
            "--quarantine and --trials auto exclude each other",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(project, words, told):
    ran(project, "--run-name", "before")
    code, refused = ran(project, *words)
    assert code == 2
    assert told in refused["error"]


def test_a_case_that_flipped_is_tried_again_and_shown_apart(project):
    ran(project, "--trials", "12", "--run-name", "monday")
    _, summary = ran(project, "--quarantine", "--run-name", "tuesday")
    flipped = {one["case_id"] for one in summary["quarantine"]}
    assert flipped <= {"c1", "c2", "c3"}
    assert flipped
    assert all(one["trials"] > 1 for one in summary["quarantine"])
    assert summary["counts"]["planned"] == 4 - sum(not one["lost"] for one in summary["quarantine"])


def test_a_resumed_run_completes_its_rounds_and_counts_no_part_of_one(project):
    ran(project, "--agent", "always", "--tools", "live", "--trials", "12", "--run-name", "before")
    ran(project, "--agent", "never", "--tools", "live", "--trials", "auto", "--against", "before", "--run-name", "cut")
    folder = project / "runs" / "cut"
    rounds = json.loads((folder / "rounds.json").read_text())["rounds"][:2]
    (folder / "stopped.json").unlink()
    (folder / "rounds.json").write_text(json.dumps({"rounds": rounds}))
    kept = [*rounds[0], rounds[1][0]]
    for trial in (folder / "trials").glob("*/*"):
        if {"case_id": trial.parent.name, "attempt": int(trial.name)} not in kept:
            shutil.rmtree(trial)
    partial = found_in_pairs(reference_trials(RunFolder.open(project / "runs" / "before")), RunFolder.open(folder))
    assert partial is not None
    assert partial[1].endswith(f"of {len(rounds[0])} pairs")
    words = ["--project", str(project), "run", "--resume", "cut", "--sandbox", "local", "--json"]
    refused = CliRunner().invoke(harness, [*words, "--against", "cut"])
    assert isinstance(refused.exception, UsageError)
    resumed = CliRunner().invoke(harness, words)
    assert resumed.exit_code == 1
    assert "worse than before" in json.loads(resumed.stdout)["stopped"]
    assert rounds == json.loads((folder / "rounds.json").read_text())["rounds"][:2]
    assert all((folder / "trials" / one["case_id"] / str(one["attempt"])).is_dir() for one in rounds[1])


def test_a_resumed_run_remembers_the_baseline_that_it_is_compared_with(project):
    ran(project, "--agent", "always", "--tools", "live", "--trials", "12", "--run-name", "before")
    assert CliRunner().invoke(harness, ["--project", str(project), "baseline", "set", "before"]).exit_code == 0
    words = ("--agent", "never", "--tools", "live", "--trials", "auto", "--against-baseline", "--run-name", "cut")
    ran(project, *words)
    shutil.rmtree(project / "runs" / "before")
    (project / "runs" / "cut" / "stopped.json").unlink()
    shutil.rmtree(project / "runs" / "cut" / "trials" / "c1")
    command = ["--project", str(project), "run", "--resume", "cut", "--sandbox", "local", "--json"]
    resumed = CliRunner().invoke(harness, command)
    assert resumed.exit_code == 1
    assert "worse than before" in json.loads(resumed.stdout)["stopped"]
