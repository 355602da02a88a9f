"""`make demo-drift`: drift from the first recording to the last closed issue, with a service that really changes.

A copy of the drive-thru project is recorded against version 1 of its menu service. Then the service is exchanged under
the recordings: version 2 breaks one answer of three tools, version 3 two members more of one of them, and version 1
comes back. Every night is one `harness drift --file`; issues are Markdown files in the copy.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
CASES = ("order-correctness-000", "order-correctness-001")
LOOK = [
    "drift",
    "drive_thru",
    *(word for case in CASES for word in ("--case", case)),
    "--trials",
    "1",
    "--no-flips",
    "--file",
]
"""A change counts where two answers show it: here those of two cases, so that one trial a case is enough."""


class Night(NamedTuple):
    """A night, what it should do to the issues, and what it did."""

    name: str
    version: int
    expected: dict[str, int]


NIGHTS = (
    Night("night-1", 2, {"file": 3}),
    Night("night-2", 3, {"update": 1, "leave": 2}),
    Night("night-3", 3, {"leave": 3}),
    Night("night-4", 1, {"update": 3}),
    Night("night-5", 1, {"update": 3}),
    Night("night-6", 1, {"close": 3}),
)


def main() -> int:
    """0: every night did what it should."""
    keep = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="demo-drift-") as temporary:
        project = keep or Path(temporary) / "project"
        rows = _demonstrate(project)
        for path in sorted(project.glob("issues/*.md")):
            text = path.read_text(encoding="utf-8")
            print(f"\n{path.name}\n{text[text.index('### Changes') : text.index('### What it touches')].strip()}")
    print(f"\n{'night':9}{'menu service':14}{'issues':32}{'open':>5}{'rows':>6}  as it should be")
    for night, done, opened, changes in rows:
        said = ", ".join(f"{count} {verb}" for verb, count in done.items())
        right = "yes" if done == night.expected else f"NO: {night.expected}"
        print(f"{night.name:9}version {night.version:<6}{said:32}{opened:>5}{changes:>6}  {right}")
    print(f"\n{time.monotonic() - began:.0f} s")
    return 0 if len(rows) == len(NIGHTS) and all(done == night.expected for night, done, _, _ in rows) else 1


def _demonstrate(project: Path) -> list[tuple[Night, dict[str, int], int, int]]:
    for folder in ("suites", "images", "snapshots"):
        shutil.copytree(ROOT / folder / "drive_thru", project / folder / "drive_thru")
    print("# recorded against version 1 of the menu service")
    _harness(project, "record", "drive_thru", "--agent", "v2", *LOOK[2:-4])
    rows = []
    for night in NIGHTS:
        print(f"\n# {night.name}: version {night.version} of the menu service runs")
        _exchange(project, night.version)
        said = _harness(project, *LOOK, "--run-name", night.name)
        done: dict[str, int] = {}
        for verb in re.findall(r"^  (file|update|reopen|close|leave) ", said, re.MULTILINE):
            done[verb] = done.get(verb, 0) + 1
        heads = [_head(path) for path in project.glob("issues/*.md")]
        changes = sum(len(re.findall(r"^\| `.*\| there \|", text, re.MULTILINE)) for text, _ in heads)
        rows.append((night, done, sum(head["state"] == "open" for _, head in heads), changes))
    return rows


def _exchange(project: Path, version: int) -> None:
    """Puts another version of the service's program into its image; the recordings stay as they are."""
    package = project / "images/drive_thru/menu/menu_service"
    shutil.rmtree(package)
    shutil.copytree(ROOT / "images/drive_thru/menu/menu_service", package, ignore=shutil.ignore_patterns("__pycache__"))
    if version > 1:
        (package / "api.py").rename(package / "version_1.py")
        shutil.copyfile(HERE / f"version_{version}" / "api.py", package / "api.py")


def _harness(project: Path, *arguments: str) -> str:
    """Runs and shows the command; 1 is a verdict (a tool has drifted), more is an end of the demonstration."""
    print(f"$ harness {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "harness", "--project", str(project), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if "drift" in arguments or done.returncode > 1:
        print(done.stdout, flush=True)
    if done.returncode > 1:
        raise SystemExit(f"harness {arguments[0]} ended with {done.returncode}")
    return done.stdout


def _head(path: Path) -> tuple[str, dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    return text, yaml.safe_load(text.split("---\n")[1])


if __name__ == "__main__":
    sys.exit(main())
