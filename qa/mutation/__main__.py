"""Plants mutants in the core rooms and counts those that the room's fast tests notice: `make mutate`.

    python -m qa.mutation [--room ROOM] [--count N] [--seed TEXT] [--jobs N]

The same seed plants the same mutants, wherever other code changes. Survivors are printed with their place; those that
no test could notice stand in `equivalent.toml` with the reason, and are not counted. Exits 1 where a room notices less
than 85 %.
"""

import argparse
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from qa.mutation.planting import Mutant, sample
from qa.mutation.trying import Workspace

ROOT: Final = Path(__file__).parents[2]
ROOMS: Final = {
    "cassettes": (
        "tests/cassettes",
        "tests/gateway/models/test_failures_inside.py",
        "tests/traces/importing/test_formats.py",
    ),
    "scoring": ("tests/scoring",),
    "drift": ("tests/drift",),
    "runs": ("tests/runs",),
    "reports": (
        "tests/reports",
        "tests/judging/calibration/test_choice.py",
        "tests/judging/judge",
        "tests/judging/verbs",
    ),
}
"""Room -> the tests that cover it: its own; if it renders what another room found, that room's; and of the rooms that
its rules for models' answers and imported texts serve, the tests that hold just these.
"""
FLOOR: Final = 0.85
SEED: Final = "harness"
EQUIVALENT: Final = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True)
class Equivalent:
    """A mutant that behaves as the original does, for a reason that was reviewed."""

    file: str
    before: str
    after: str
    reason: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", choices=sorted(ROOMS), action="append", help="Only this room (repeatable).")
    parser.add_argument("--count", type=int, default=25, help="Mutants in each room.")
    parser.add_argument("--seed", action="append", help=f"What a sample is drawn by (repeatable; default: {SEED}).")
    parser.add_argument("--jobs", type=int, default=2, help="Mutants that are tried at the same time.")
    asked = parser.parse_args()
    rooms = asked.room or list(ROOMS)
    return max([_room(room, asked.count, asked.seed or [SEED], asked.jobs) for room in rooms])


def _room(room: str, count: int, seeds: list[str], jobs: int) -> int:
    tests = tuple(path for path in ROOMS[room] if (ROOT / path).exists())
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        workspace = Workspace(ROOT, Path(folder), tests, room)
        failed = workspace.measure()
        if failed is not None:
            print(f"{room}: its tests fail as they are, so nothing can be measured\n{failed}", flush=True)
            return 1
        return max([_sample(workspace, room, count, seed, jobs) for seed in seeds])


def _sample(workspace: Workspace, room: str, count: int, seed: str, jobs: int) -> int:
    mutants = sample(workspace.root, _files(workspace.root / "harness" / room), count, f"{seed}:{room}")
    known = _equivalents()
    keys = {mutant: _key(workspace, mutant) for mutant in mutants}
    counted = [mutant for mutant in mutants if keys[mutant] not in known]
    survived = 0
    for mutant, seen in zip(counted, workspace.noticed(counted, jobs), strict=True):
        if not seen:
            survived += 1
            _, before, after = keys[mutant]
            print(f"{room}: survived {mutant.file}:{mutant.line}\n  - {before}\n  + {after}", flush=True)
    noticed = len(counted) - survived
    share = noticed / len(counted) if counted else 1.0
    left_out = f"{len(mutants) - len(counted)} equivalent left out"
    print(f"{room}, seed {seed}: noticed {noticed} of {len(counted)} ({share:.0%}); {left_out}", flush=True)
    return 0 if share >= FLOOR else 1


def _files(folder: Path) -> list[Path]:
    """The room's modules, without its lists of names."""
    return [file for file in folder.rglob("*.py") if file.name != "__init__.py"]


def _key(workspace: Workspace, mutant: Mutant) -> tuple[str, str, str]:
    return mutant.file, *mutant.words((workspace.root / mutant.file).read_text(encoding="utf-8"))


def _equivalents() -> set[tuple[str, str, str]]:
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("equivalent", [])
    read = [Equivalent(**one) for one in listed]
    return {(one.file, one.before, one.after) for one in read}


if __name__ == "__main__":
    sys.exit(main())
