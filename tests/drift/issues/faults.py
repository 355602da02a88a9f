"""`python -m tests.drift.issues.faults`: what each failure of the tracker does to a night of two findings, as a table.

Night 1 meets the failure, night 2 does not. Right: one open issue a tool in the end, and what was not filed in night 1
was kept on disk until night 2. A twin is an issue beyond the two; it is right where it is closed as a duplicate.
"""

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.drift.issues.conftest import finding, look
from tests.drift.issues.github_server import GithubServer, When, dies_after_doing
from tests.drift.issues.test_github import ISSUES, KEPT, WHOLE, file


def main() -> int:
    print(f"{'failure in night 1':38}{'night 1':20}{'night 2':10}{'open':>5}{'closed twins':>14}{'lost':>6}")
    faults = {**WHOLE, **{name: fault for name, (fault, _) in KEPT.items()}}
    right = [_row(name, [fault]) for name, fault in faults.items()]
    right.append(_row("answer lost, and lists lag by 4", [When("POST", ISSUES, dies_after_doing())], lag=4))
    right.append(_row("two runs at once", [], at_once=2))
    return 0 if all(right) else 1


def _row(name: str, faults: list[When], lag: int = 0, at_once: int = 1) -> bool:
    """Prints what came of it; whether it is right."""
    with GithubServer() as server, tempfile.TemporaryDirectory() as folder:
        server.faults, server.lag = faults, lag
        places = [Path(folder) / str(number) for number in range(at_once)]
        with ThreadPoolExecutor() as threads:
            night = look(finding("a"), finding("b"))
            first, *_ = threads.map(lambda place: file(server, place, night, timeout_s=2)[-1], places)
        server.faults = []
        later = [file(server, place, look(finding("a"), finding("b"), nights=1)) for place in places]
        kept = list(Path(folder).glob("*/issues/outbox/github/*/*.md"))
        opened, twins = len(server.open_issues()), len(server.issues) - len(server.open_issues())
    clean = not kept and all(one.error is None for filings in later for one in filings)
    said = f"{len(first.filed)} filed" + ("" if first.error is None else ", rest kept")
    print(f"{name:38}{said:20}{'clean' if clean else 'NOT CLEAN':10}{opened:>5}{twins:>14}{2 - opened:>6}")
    return clean and opened == 2


if __name__ == "__main__":
    sys.exit(main())
