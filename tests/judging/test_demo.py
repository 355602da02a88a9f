"""`make demo-judge`: everything from a run to a calibrated judge, as it is typed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.judging.rubrics import load_rubric
from harness.runs.judge_calibration import Runs
from harness.runs.store.folder import RunFolder

pytestmark = pytest.mark.slow


def test_the_demo_runs_judges_compares_and_calibrates(project: Path, tmp_path: Path) -> None:
    for folder in ("suites", "cassettes", "images", "snapshots", "prompts"):
        shutil.copytree(project / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    line = [sys.executable, "-m", "qa.demo_judge", "--project", str(tmp_path)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=500, cwd=project)
    assert (0, "") == (done.returncode, "" if done.returncode == 0 else done.stderr)
    assert "25 transcripts" in done.stderr
    assert "judged by counter" in done.stdout
    assert "against the sample labels" in done.stderr
    assert "the labels are samples of one annotator" in " ".join(done.stdout.split())
    held_out = re.findall(r"^held-out +(\d) +70 +(\d+) %", done.stdout, re.M)
    assert ["1", "2"] == [version for version, _ in held_out]
    assert int(held_out[1][1]) > int(held_out[0][1]) + 10
    copy = tmp_path / ".harness" / "judge-demo"
    assert "candidate" in (copy / "prompts" / "counter-judge" / "labels.yaml").read_text()
    assert before == {path for path in tmp_path.rglob("*") if path.is_file() and copy not in path.parents}

    folders = tuple(RunFolder.open(copy / "runs" / agent) for agent in ("v1", "v2"))
    runs = Runs(project, folders, load_rubric("counter", project / "suites" / "drive_thru"))
    assert () == runs.labels.left_out
    assert 250 == len(runs.labels.items) == len(runs.labelled()), (
        "labels hold for trajectories: where the suite or an agent was changed, they must be made anew"
    )
