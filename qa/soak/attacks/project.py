"""A project of one suite, the commands that are typed in it, and what they leave in the run folder."""

import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qa.soak.rows import Row
from tests.cli.starting import run_command

AGENT = 'agents:\n  v1: {command: [python3, "{agent}/main.py"], files: agent}\n'
PATIENCE_S = 120.0
"""A command that takes longer hangs; none of them takes a tenth of it on an idle machine."""


@dataclass(frozen=True)
class Project:
    """A folder with the suite `s`."""

    folder: Path

    @property
    def suite(self) -> Path:
        return self.folder / "suites" / "s"

    def write(self, rest: str, cases: str, agent: str) -> None:
        (self.suite / "agent").mkdir(parents=True, exist_ok=True)
        (self.suite / "agent" / "main.py").write_text(agent, encoding="utf-8")
        (self.suite / "suite.yaml").write_text(AGENT + rest, encoding="utf-8")
        (self.suite / "cases.yaml").write_text(cases, encoding="utf-8")

    def __call__(
        self, *words: str, env: dict[str, str] | None = None, timeout_s: float = PATIENCE_S
    ) -> subprocess.CompletedProcess[str]:
        """Raises AssertionError where the command hangs."""
        return run_command(*words, folder=self.folder, env=env, timeout_s=timeout_s)

    def stored(self, run: str, case: str, name: str, attempt: int = 1) -> dict[str, Any]:
        """A JSON file of a trial."""
        path = self.folder / "runs" / run / "trials" / case / str(attempt) / name
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


@contextmanager
def project() -> Iterator[Project]:
    with tempfile.TemporaryDirectory(prefix="attacked-", ignore_cleanup_errors=True) as folder:
        yield Project(Path(folder) / "project")


def sandboxes(scale: float) -> tuple[str, ...]:
    """Those that an attack on the evidence is tried in: it needs no container to be one."""
    return ("local", "docker", "docker-warm") if scale >= 1 else ("local",)


def row_of(what: str, tries: int, wrong: Iterable[tuple[str, str]], missing: Iterable[str] = (), said: str = "") -> Row:
    """`wrong`: try and what was let through, any number a try; `missing`: controls that did not succeed."""
    told, alone = list(wrong), list(missing)
    lines = [f"{name}: {what}" for name, what in told] + [f"no control: {name}" for name in alone]
    return Row(
        what=what,
        tries=tries,
        survived=tries - len({name for name, _ in told}),
        said="".join(f"\n  {line[:300]}" for line in lines) or said,
        void=bool(alone),
    )


def refused_plainly(done: subprocess.CompletedProcess[str], *named: str) -> str | None:
    """What is wrong with a refusal: it is exit status 2 or 3, one message without a traceback, naming what it is of."""
    if "Traceback" in done.stdout + done.stderr:
        return "traceback: " + done.stderr.strip()[-200:]
    if done.returncode not in {2, 3}:
        return f"exit {done.returncode}: {(done.stderr or done.stdout).strip()[-200:]}"
    if not any(name in done.stderr for name in named):
        return f"the message names none of {named}: {done.stderr.strip()[-200:]}"
    return None
