"""`python -m qa.demo_simulate.scenarios`: records the users' model in the scenarios that the demo leaves out.

The first version of the shopper is played with a user who is a model (a double that follows the plan). What is
recorded already stays; recordings are added to the scenarios' cassettes.
"""

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from harness.runs.store.folder import RunFolder
from harness.suite.loading import load_suite
from qa.demo_simulate.__main__ import AGENTS, CASES, CASSETTES, ROOT, doubles, run_harness

_NAME = "recorded"


def main() -> int:
    """0: every conversation was finished."""
    others = [case.id for case in load_suite(ROOT, "grocery").cases if case.id not in CASES]
    with tempfile.TemporaryDirectory(prefix="grocery-scenarios-") as temporary:
        project = Path(temporary)
        for name in ("suites/grocery", "images/grocery", "snapshots/grocery", str(CASSETTES)):
            shutil.copytree(ROOT / name, project / name)
        words = ["run", "grocery", "--agent", AGENTS[0], "--user", "model", "--run-name", _NAME]
        words += ["--live", "all,record"]
        with doubles():
            run_harness(project, *words, *(word for case in others for word in ("--case", case)))
        cards = list(RunFolder.open(project / "runs" / _NAME).scorecards())
        shutil.copytree(project / CASSETTES, ROOT / CASSETTES, dirs_exist_ok=True)
    ends = Counter((card.outcome, card.success) for card in cards)
    print(", ".join(f"{outcome}, success {success}: {number}" for (outcome, success), number in ends.items()))
    return 0 if len(others) == ends["finished", True] + ends["finished", False] else 1


if __name__ == "__main__":
    sys.exit(main())
