"""The demonstration itself: it says NO, and ends with 1, where a night did not do what it should."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("base_image")
def test_drift_is_filed_grows_is_left_alone_and_is_closed(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "qa.demo_drift"], cwd=project, capture_output=True, text=True, timeout=500
    )
    assert 0 == done.returncode, f"{done.stdout}\n{done.stderr}"
    assert 6 == done.stdout.count("  yes\n")
