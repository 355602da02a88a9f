"""Checks that users wrote before a module got its present name load for one release more, and say what to change."""

import subprocess
import sys

CHECK = "from harness.frozen import Frozen, digest_of; import harness.values as now; assert Frozen is now.Frozen"


def test_the_earlier_name_of_values_loads_and_names_the_new_one() -> None:
    done = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=True)
    assert done.stderr.count("FutureWarning") == 1
    assert "harness.values" in done.stderr
