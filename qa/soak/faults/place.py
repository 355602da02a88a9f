"""Where a fault is tried: the project with a finished run in it, and a folder for temporary files that is counted."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from qa.soak.faults.project import SUITE, write_project
from qa.soak.rows import Row, Unable
from tests.cli.starting import HARNESS

_TYPED_WITHIN_S = 1800
_KEPT = ("suites", "images", "snapshots", "cassettes", "runs/before")
_TOOLS = ("unshare", "nsenter", "script", "gcc", "dockerd")
UNDISTURBED = "before"


@dataclass(frozen=True)
class Place:
    """A project, and the TMPDIR of what is typed in it."""

    folder: Path
    temporary: Path

    def typed(self, script: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Runs lines of shell as root of a mount namespace of their own; HARNESS stands for the command."""
        command = ["unshare", "--mount", "bash", "-c", script.replace("HARNESS", str(HARNESS)).replace("SUITE", SUITE)]
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, "TMPDIR": str(self.temporary), **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TYPED_WITHIN_S,
            check=False,
        )

    def kept(self) -> dict[str, str]:
        """What no fault may change: file -> digest of its content."""
        files = [path for name in _KEPT for path in sorted((self.folder / name).rglob("*")) if path.is_file()]
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if path.name != ".lock" and "report" not in path.parts
        }

    def left(self) -> list[str]:
        """Temporary files and folders; an empty folder for private ones is not a leftover."""
        found = [path for path in self.temporary.rglob("*") if not path.name.startswith(f"harness-{os.getuid()}")]
        return [str(path) for path in found]

    def scorecards(self, run: str) -> dict[str, bytes]:
        """Of each trial the last one, by its place in the run folder."""
        trials = self.folder / "runs" / run / "trials"
        found = sorted(trials.glob("*/*/scorecard.json"))
        return {str(path.relative_to(trials)): path.read_bytes() for path in found if path.parent.name.isdecimal()}

    def clean(self) -> None:
        """Takes away what was tried."""
        for run in (self.folder / "runs").iterdir():
            if run.name != UNDISTURBED:
                shutil.rmtree(run, ignore_errors=True)
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()

    def row(self, what: str, good: bool, before: Mapping[str, str], said: str = "") -> Row:
        """The row of one try: what was there before is lost where it is gone or different."""
        after = self.kept()
        lost = sum(after.get(path) != digest for path, digest in before.items())
        return Row(what=what, tries=1, survived=int(good), lost=lost, left=len(self.left()), said="" if good else said)


@contextmanager
def place() -> Iterator[Place]:
    """The project sealed, recorded and run once, in `local`. Raises Unable."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if os.geteuid() != 0 or missing:
        raise Unable(f"needs to be root, and {', '.join(missing or _TOOLS)}")
    with tempfile.TemporaryDirectory(prefix="faults-") as root:
        folder, temporary = Path(root) / "project", Path(root) / "t"
        folder.mkdir()
        temporary.mkdir()
        write_project(folder)
        made = Place(folder, temporary)
        for words in (
            "HARNESS snapshot build kiosk open",
            "HARNESS tool refresh SUITE",
            f"HARNESS run SUITE --live tools,record --sandbox local --run-name {UNDISTURBED}",
        ):
            done = made.typed(words)
            assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        yield made
