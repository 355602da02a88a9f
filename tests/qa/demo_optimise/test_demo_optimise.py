"""The demonstration's first part; `test_in_process.py` has faults in coordination, and baits."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.judging.rubrics import read_rubric


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("base_image")
def test_an_atomic_fault_is_mended_in_containers(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "qa.demo_optimise", "--atomic"], cwd=project, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    # The fault fails `shopping` alone; the checks pass, and weigh as much as the rubric.
    weights = read_rubric(project / "suites/grocery/rubrics/invocation.yaml").weights
    before = 0.5 + 0.5 * weights["conversation"] / (weights["shopping"] + weights["conversation"])
    assert f"held-out {before:.3f} -> 1.000" in done.stdout
    assert "+- Add the quantity that is asked for; one where none is named." in done.stdout
