"""The demonstration itself."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("base_image")
def test_the_same_agent_fits_its_own_log_and_another_leaves_it(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "qa.demo_simulate"], cwd=project, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(("model ", "logged "))]
    assert [row[:4] for row in rows] == [
        ["model", "shopper", "10/10", "10/10"],
        ["model", "hasty", "2/10", "2/10"],
        ["logged", "shopper", "10/10", "10/10"],
        ["logged", "hasty", "2/10", "2/10"],
    ]
    assert rows[2][-2:] == ["100", "%"]
    assert int(rows[3][-2]) < 50
    assert sum(line.startswith("  hasty ") for line in done.stdout.splitlines()) == 10
