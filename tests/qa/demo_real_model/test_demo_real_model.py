"""The demonstration itself."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_what_real_models_write_ends_in_the_right_outcome(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "qa.demo_real_model"], cwd=project, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    roles = [line.split()[0] for line in done.stdout.splitlines() if line[:1].isalpha()]
    assert {"agent", "user", "judge", "reflector"} <= {*roles}
