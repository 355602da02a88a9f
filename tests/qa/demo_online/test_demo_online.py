"""The demonstration itself."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_production_becomes_a_case_that_fails_and_passes_when_mended() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "qa.demo_online"], cwd=ROOT, capture_output=True, text=True, timeout=500
    )
    assert 0 == done.returncode, f"{done.stdout}\n{done.stderr}"
    assert "300 sessions scored" in done.stdout
    assert "as it should be" in done.stdout.splitlines()[-1]
