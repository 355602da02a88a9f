"""`harness ...` as a process that can be told when to die, and what it was about when it did."""

import itertools
import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_ROOT = Path(__file__).parents[3]
_ENDS_WITHIN_S = 280


@dataclass(frozen=True, kw_only=True)
class Moment:
    """In the n-th time that a phase is entered, after so many of its events, and so long after that."""

    phase: str
    entry: int
    events: int
    delay_s: float


@dataclass(frozen=True, kw_only=True)
class Stay:
    """One time in a phase."""

    phase: str
    seconds: float
    events: int


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A command that has ended, or was ended."""

    pid: int
    status: int
    said: str
    stays: tuple[Stay, ...]

    @property
    def killed(self) -> bool:
        return self.status == -signal.SIGKILL

    @property
    def fell_in(self) -> str:
        """The phase in which it ended."""
        return self.stays[-1].phase


class Commands:
    """Runs commands in one project, with a TMPDIR of their own below `folder`."""

    def __init__(self, folder: Path, project: Path) -> None:
        self.project = project
        self.temporary = folder / "t"
        self.temporary.mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.temporary), "XDG_CACHE_HOME": str(folder / "cache")}
        self._folder = folder
        self._numbers = itertools.count()
        self._server = subprocess.Popen(
            [sys.executable, "-P", "-m", "qa.soak.killing.watched"],
            env={**self.environment, "PYTHONPATH": str(_ROOT)},
            cwd=_ROOT,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __call__(self, *words: str, moment: Moment | None = None, changes: Path | None = None) -> Ended:
        """`changes`: where to note what it changes in the project.

        Raises AssertionError where it does not end in time; then it is killed.
        """
        said, phases = (self._folder / f"{what}-{next(self._numbers)}" for what in ("said", "phases"))
        said.touch()
        request = {
            "words": ["harness", *words],
            "folder": str(self.project),
            "environment": self.environment,
            "out": str(said),
            "err": str(said),
            "phases": str(phases),
            "changes": None if changes is None else str(changes),
            "moment": None if moment is None else asdict(moment),
        }
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        pid = self._number()
        try:
            status = self._number()
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self._number()
            raise AssertionError(f"harness {' '.join(words)} does not end:\n{said.read_text()}") from None
        return Ended(pid=pid, status=status, said=said.read_text(), stays=_stays(phases.read_text()))

    def ok(self, *words: str) -> Ended:
        """Raises AssertionError with what it said where it fails."""
        ended = self(*words)
        assert ended.status == 0, f"harness {' '.join(words)}: {ended.status}\n{ended.said}"
        return ended

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.communicate(timeout=60)

    def _number(self) -> int:
        assert self._server.stdout is not None
        if not select.select([self._server.stdout], [], [], _ENDS_WITHIN_S)[0]:
            raise TimeoutError
        line = self._server.stdout.readline()
        assert line, "the server of commands is gone; what it said stands above"
        return int(line)


def _stays(log: str) -> tuple[Stay, ...]:
    """Each line says how many events the phase before it had."""
    lines = [line.split() for line in log.splitlines()]
    following = [*lines[1:], [*lines[-1][:2], "0"]]
    return tuple(
        Stay(phase=phase, seconds=float(until) - float(began), events=int(events))
        for (phase, began, _), (_, until, events) in zip(lines, following, strict=True)
    )
