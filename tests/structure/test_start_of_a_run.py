"""What a run imports before it knows that it needs it: each library costs every run its time."""

import subprocess
import sys

UNNEEDED = (
    "docker",
    "requests",
    "testcontainers",
    "jsonpath",
    "jsonschema",
    "harness.simulate.entailment",
    "harness.simulate.meaning",
    "harness.judge.pairwise",
    "harness.judge.lab.calibration.calibrate",
)
"""Libraries and rooms that a suite without containers, paths, tools, users and judges never uses."""


def test_the_verb_run_imports_no_library_that_a_plain_suite_does_without() -> None:
    program = f"import sys, harness.cli.run.running; print(*(set({UNNEEDED!r}) & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "" == found.stdout.strip()
