"""`make soak`: every attack and every fault, long, in one table; the seed is printed, the same seed tries the same."""

import argparse
import importlib
import random
import sys
import time
from collections.abc import Iterator

from tests.soak.rows import Row

PARTS = {
    "escape": "tests.soak.escapes",
    "secrets": "tests.soak.secrets",
    "kill": "tests.soak.kills",
    "load": "tests.soak.load",
    "faults": "tests.soak.faults",
    "fuzz": "tests.soak.fuzzing",
}
HEAD = f"{'attack or fault':58} {'tries':>7} {'survived':>8} {'lost':>5} {'left behind':>11}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", choices=PARTS, action="append", help="may be given several times")
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000))
    options.add_argument("--scale", type=float, default=1.0, help="0.1 tries a tenth")
    chosen = options.parse_args()
    print(f"seed {chosen.seed}, scale {chosen.scale:g}\n{HEAD}", flush=True)
    bad, began = 0, time.monotonic()
    for part in chosen.only or PARTS:
        for row in rows_of(part, chosen.seed, chosen.scale):
            print(line(row), flush=True)
            bad += not row.good
    print(f"\n{bad} row(s) are not as they should be, {time.monotonic() - began:.0f} s")
    sys.exit(1 if bad else 0)


def rows_of(part: str, seed: int, scale: float) -> Iterator[Row]:
    """The rows of one part, each as soon as it is known."""
    yield from importlib.import_module(PARTS[part]).rows(random.Random(seed), scale)


def line(row: Row) -> str:
    note = " VOID: its control did not succeed" if row.void else f"  {row.said}" if row.said else ""
    return f"{row.what:58} {row.tries:7,} {row.survived:8,} {row.lost:5,} {row.left:11,}{note}"


if __name__ == "__main__":
    main()
