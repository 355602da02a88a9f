"""Trials beside floods, and streams whose text resembles a secret: the tests of both, again and again."""

import re
import subprocess
import sys
from collections.abc import Iterator
from random import Random

from qa.soak.attacks.project import row_of
from qa.soak.rows import Row

TESTS = {
    "a neighbour beside a flood is as fast as alone": "tests/gateway/test_neighbours.py",
    "when a stream comes tells nothing of secrets": "tests/gateway/models/test_paced_streams.py",
}
_COUNT = re.compile(r"(\d+) (passed|failed|error)")


def rows(random: Random, scale: float) -> Iterator[Row]:
    for what, file in TESTS.items():
        passed, wrong = 0, list[tuple[str, str]]()
        for number in range(max(1, round(scale))):
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", "slow or not slow", file]
            done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
            counts = {kind: int(count) for count, kind in _COUNT.findall(done.stdout)}
            passed += counts.get("passed", 0)
            failures = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
            wrong += [(f"round {number}: {name}", "failed") for name in failures]
        yield row_of(what, passed + len(wrong), wrong, [] if passed else [f"no test of {file} passed"])
