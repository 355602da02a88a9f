"""Runs of the load's project, each in a process with a TMPDIR of its own, and what can be read from them."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness.sandbox.providers import ProviderName
from qa.soak.left import left_of
from qa.soak.load.project import CALLS, GOOD, MISBEHAVIOURS, Misbehaviour, write_project

_ROOT = Path(__file__).parents[3]
_ENDS_WITHIN_S = 60.0
_WELL_BEHAVED = Misbehaviour(outcome="finished")


class Project:
    """The project in a temporary folder. A context manager: with it everything goes."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="hload-")
        self._folder = Path(self._temporary.name)
        self._runs = 0

    def __enter__(self) -> Self:
        try:
            write_project(self._folder)
        except BaseException:
            self._temporary.cleanup()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._temporary.cleanup()

    def run(
        self, sandbox: ProviderName, *, jobs: int, attempts: int, seed: int, well_behaved: bool = False
    ) -> "Loaded":
        """Makes a run, in the order that the seed gives."""
        self._runs += 1
        name = f"{self._folder.name}-{self._runs}"
        temporary = self._folder / "t"
        temporary.mkdir(exist_ok=True)
        words = ["--sandbox", sandbox, "--jobs", str(jobs), "--trials", str(attempts), "--seed", str(seed)]
        words += ["--name", name, *(["--well-behaved"] if well_behaved else [])]
        told = _told([sys.executable, "-m", "qa.soak.load.running", str(self._folder), *words], temporary)
        return Loaded(folder=self._folder / "runs" / name / "trials", left=left_of(name, temporary), **json.loads(told))


def _told(command: list[str], temporary: Path) -> str:
    """What it printed. It is given time to clean up after Ctrl-C, which it gets too."""
    process = subprocess.Popen(
        command, cwd=_ROOT, env=os.environ | {"TMPDIR": str(temporary)}, stdout=subprocess.PIPE, text=True
    )
    try:
        printed, _ = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_ENDS_WITHIN_S)
        finally:
            process.kill()
            process.wait()
        raise
    if process.returncode != 0:
        raise RuntimeError(f"the run under load ended with status {process.returncode}")
    return printed


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A run that was made."""

    folder: Path
    planned: int
    wall_s: float
    resident_mb: list[float]
    """The least of the harness's at the beginning and about half of its trials, and what it keeps after the last."""
    before: list[int]
    """Threads and descriptors."""
    after: list[int]
    left: frozenset[str]

    @property
    def stored(self) -> int:
        return sum(1 for _ in self._cards())

    @property
    def calls_expected(self) -> int:
        return CALLS * sum(1 for path in self._cards() if _case(path).startswith(GOOD))

    def unexpected(self) -> list[str]:
        """The trials that ended otherwise than their agent behaved, in words."""
        found = []
        for path in self._cards():
            card = json.loads(path.read_bytes())
            due = MISBEHAVIOURS.get(card["case_id"], _WELL_BEHAVED)
            reason = card["reason"] or ""
            if card["outcome"] != due.outcome or due.reason not in reason or bool(due.reason) != bool(reason):
                found.append(f"{card['case_id']} {card['attempt']}: {card['outcome']} {reason[:200]}".strip())
        return found

    def retried(self) -> list[Path]:
        """What is kept of trials that the harness could not do at first."""
        return sorted(self.folder.glob("*/*.failed-*"))

    def alike(self, calm: "Loaded") -> tuple[int, list[str]]:
        """How many scorecards of well-behaved agents are those of the calm run but for the attempt's number; others."""
        due = {_case(path): _plain(path) for path in calm._cards()}
        mine = [path for path in self._cards() if _case(path).startswith(GOOD)]
        different = [str(path.relative_to(self.folder)) for path in mine if _plain(path) != due.get(_case(path))]
        return len(mine) - len(different), different

    def latencies_ms(self) -> tuple[list[float], list[float]]:
        """Of the calls of well-behaved agents: as the agents saw them, and as the gateway did."""
        seen: list[float] = []
        served: list[float] = []
        for path in self._cards():
            if _case(path).startswith(GOOD):
                seen += [ns / 1e6 for ns in _printed(path.with_name("trial.json"))]
                served += [(span["end_ns"] - span["start_ns"]) / 1e6 for span in _calls(path.with_name("spans.jsonl"))]
        return seen, served

    def _cards(self) -> Iterator[Path]:
        return (path for path in self.folder.glob("*/*/scorecard.json") if path.parent.name.isdecimal())


def _case(card: Path) -> str:
    return card.parent.parent.name


def _plain(card: Path) -> bytes:
    return re.sub(rb'"attempt": ?\d+', b'"attempt":0', card.read_bytes())


def _printed(trial: Path) -> list[int]:
    """How long each call took, which well-behaved agents print; nothing where one did not get so far."""
    printed = json.loads(trial.read_bytes())["exit"]["stdout"]
    took: list[int] = json.loads(printed) if printed else []
    return took


def _calls(spans: Path) -> Iterator[dict[str, Any]]:
    for line in spans.read_text(encoding="utf-8").splitlines():
        span = json.loads(line)
        if span["name"].startswith("execute_tool "):
            yield span
