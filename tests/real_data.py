"""Where real trajectories lie, and the one rule of when a test that needs them may be passed over.

HARNESS_REAL_DATA names the folder, else it is `shared/data` beside the checkout. Where neither is there, the tests are
skipped. Where the folder is there, or was named, a part of it that cannot be read is a failure, never a skip.

`python -m tests.real_data` prints the folder, or nothing where there is none; exit status 3 where it cannot be read.
"""

import os
import sys
from pathlib import Path

import pytest

_NAMED = os.environ.get("HARNESS_REAL_DATA")
"""Read when the module is: tests run without the variables of the shell."""
FOLDER = Path(_NAMED) if _NAMED else Path(__file__).resolve().parents[2] / "shared" / "data"
USED = ("adk_evalsets", "inspect_logs", "kimi_terminal_bench", "llmbar", "tau2", "taubench", "trail")
"""What tests read."""
_COULD_NOT = 3


def real_data(*parts: str) -> Path:
    """A place in the data. Skips the test where there is no data, fails it where the place cannot be read."""
    if not _is_expected():
        pytest.skip(f"REAL TRAJECTORIES ARE ABSENT: no folder {FOLDER} (set HARNESS_REAL_DATA)")
    problem = _problem(FOLDER.joinpath(*parts))
    if problem is not None:
        pytest.fail(problem)
    return FOLDER.joinpath(*parts)


def _is_expected() -> bool:
    return bool(_NAMED) or os.path.lexists(FOLDER)


def _problem(place: Path) -> str | None:
    """Why a folder or file of the data cannot be read; None: it can."""
    try:
        if place.is_dir():
            return None if any(place.iterdir()) else f"{place} is empty, and real trajectories are expected there"
        with place.open("rb") as file:
            file.read(1)
    except OSError as error:
        return f"{place} cannot be read ({error.strerror}), and real trajectories are expected there"
    return None


def main() -> int:
    if not _is_expected():
        return 0
    problems = [problem for name in USED if (problem := _problem(FOLDER / name)) is not None]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(FOLDER.resolve())
    return _COULD_NOT if problems else 0


if __name__ == "__main__":
    sys.exit(main())
