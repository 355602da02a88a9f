"""Bad input for every reader: nearly valid by hypothesis, and by coverage with atheris.

Each part runs in a process of its own, whose memory is bounded: what ends the process is a find as well.
"""

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence

from qa.fuzz.__main__ import PARTS
from qa.fuzz.coverage import COVERED
from qa.soak.rows import Row

TRIES = 4_000
"""Of the quickest readers; slower ones get fewer, as their `cost` says."""
RUNS = 10_000
"""Of each reader that atheris watches."""
_WITHIN_S = 4 * 3600


def rows(chance: random.Random, scale: float) -> Iterator[Row]:
    """One row a reader, then one for each that atheris watches."""
    number = chance.randrange(1_000_000)
    for part in PARTS:
        yield from by_hypothesis(part, max(1, round(TRIES * scale)), number)
    for reader in COVERED:
        yield by_coverage(reader, max(1, round(RUNS * scale)), number)


def by_hypothesis(part: str, tries: int, number: int) -> Iterator[Row]:
    """The rows of one part; one more where its process did not come to its end."""
    command = [sys.executable, "-m", "qa.fuzz", "--tries", str(tries), "--seed", str(number), "--only", part]
    done = _run(command)
    found = [Row(**json.loads(line)) for line in done.stdout.splitlines() if line.startswith("{")]
    yield from found
    if done.returncode != 0:
        after = found[-1].what if found else "its beginning"
        said = f"exit {done.returncode} after {after}, seed {number}: {done.stderr[-500:]}"
        yield Row(what=f"bad input: the process of {part}", tries=1, survived=0, said=said)


def by_coverage(reader: str, runs: int, number: int) -> Row:
    """The row of one reader; `runs` counts the seeds too."""
    command = [sys.executable, "-m", "qa.fuzz.coverage", reader, "--runs", str(runs), "--seed", str(number)]
    done = _run(command)
    made = [int(count) for count in re.findall(r"^#(\d+)", done.stderr, re.MULTILINE)]
    good = done.returncode == 0
    said = "" if good else f"exit {done.returncode}, seed {number}: {done.stdout[-500:]} {done.stderr[-500:]}"
    tries = max(made, default=1)
    return Row(what=f"by coverage: {reader}", tries=tries, survived=tries if good else tries - 1, said=said)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_WITHIN_S)
