"""The demonstration itself."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("base_image")
def test_both_faults_are_mended_and_the_bait_is_refused(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "qa.demo_optimise"], cwd=project, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    atomic, coordination, bait = done.stdout.split("\n== ")[1:]
    assert "held-out 0.180 -> 1.000" in atomic
    assert "+- Add the quantity that is asked for; one where none is named." in atomic
    assert "+- Hand the budget on to the cart agent with every request that adds something." in coordination
    assert ": critical: order_confirmed" in bait, "by the gate of one stage or another"
    assert "no better prompt found" in bait
