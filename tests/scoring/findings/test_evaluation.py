"""The evaluation on published runs: says so if there are none, and holds what was reached if there are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.real_data import real_data


def _run(project: Path, *arguments: str, data: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ) if data is None else {**os.environ, "HARNESS_REAL_DATA": str(data)}
    command = [sys.executable, str(project / "qa" / "findings_eval" / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=project)


def test_without_data_it_says_so_and_exits_2(project: Path, tmp_path: Path) -> None:
    done = _run(project, data=tmp_path)
    assert (2, "") == (done.returncode, done.stdout)
    assert str(tmp_path) in done.stderr


@pytest.fixture(scope="module")
def tables(project: Path) -> str:
    done = _run(project, data=real_data("tau2").parent)
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout


def _row(tables: str, start: str) -> str:
    return next(line.strip() for line in tables.splitlines() if line.strip().startswith(start))


@pytest.mark.slow
def test_what_facts_reached_still_holds(tables: str) -> None:
    counts = {
        "invented tools": ["34/34"],
        "loops on the set": ["81/82", "2/547"],
        "alarms of facts on rewarded runs, toolorchestra": ["0/124"],
        "alarms of facts on rewarded runs, taubench": ["0/84"],
        "alarms of facts on rewarded runs, tau2": ["1/230"],
    }
    assert counts == {what: re.findall(r"\d+/\d+", _row(tables, what)) for what in counts}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "runs", "least"), [("tau2", 159, 97), ("taubench", 172, 97), ("toolorchestra", 155, 96)]
)
def test_whether_the_goal_was_reached_is_predicted_without_a_false_pass(
    tables: str, name: str, runs: int, least: int
) -> None:
    """Two runs of taubench made every gold call and were cut off by the limit of steps: their reward is 0."""
    gold = next(
        line for line in tables.splitlines() if line.split()[:1] == [name] and "effect_match, finished, said" in line
    )
    shares = [float(one) for one in re.findall(r"\(([\d.]+) %\)", gold)]
    assert (f"/{runs} " in gold, True, "0") == (True, shares[-1] >= least, gold.split()[-1])


@pytest.mark.slow
def test_the_table_of_perturbations_says_that_just_what_should_move_moves(tables: str) -> None:
    assert "NO" not in tables
    assert "just these metrics moved, each to the value that its formula gives: 20/20" in tables
