"""Walks go through the command line, a process for each command, in a project of their own."""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.starting import HARNESS, run_command

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Walk:
    """A project, and the command that is typed in it."""

    folder: Path

    def __call__(
        self, *words: str, status: int = 0, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = run_command(*words, folder=self.folder, env=env)
        assert status == done.returncode, f"harness {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [HARNESS, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def summary(self, *words: str, status: int = 0, env: dict[str, str] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self(*words, "--json", status=status, env=env).stdout)
        return found

    def trial(self, run: str, case: str, attempt: int = 1) -> dict[str, Any]:
        path = self.folder / "runs" / run / "trials" / case / str(attempt) / "trial.json"
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def scorecards(self, run: str) -> dict[str, bytes]:
        """Every scorecard's bytes, by its place in the run folder."""
        folder = self.folder / "runs" / run / "trials"
        return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("scorecard.json"))}


@pytest.fixture
def walk(tmp_path: Path) -> Walk:
    """An empty project."""
    return Walk(tmp_path)


@pytest.fixture(scope="module")
def drive_thru(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """A copy of this repository's own project."""
    folder = tmp_path_factory.mktemp("drive_thru")
    for name in ("suites", "images", "snapshots", "cassettes"):
        shutil.copytree(ROOT / name, folder / name)
    return Walk(folder)


WriteSuite = Callable[[str, str, dict[str, str]], None]


@pytest.fixture
def write_suite(walk: Walk) -> WriteSuite:
    """Writes a suite `s` with one agent `v1`: suite.yaml's rest, cases.yaml, and the agent's files."""

    def write(rest: str, cases: str, files: dict[str, str]) -> None:
        folder = walk.folder / "suites" / "s"
        (folder / "agent").mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / "agent" / name).write_text(text, encoding="utf-8")
        agents = 'agents:\n  v1: {command: [python3, "{agent}/main.py"], files: agent}\n'
        (folder / "suite.yaml").write_text(agents + rest, encoding="utf-8")
        (folder / "cases.yaml").write_text(cases, encoding="utf-8")

    return write
