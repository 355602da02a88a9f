"""Programs that the host starts while the agent's runs: they end with it at the latest."""

from __future__ import annotations

import posix
import time

from harness.sandbox.inside.program import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from harness.sandbox.inside.loop import Loop

_SIGKILL = 9
_FOREVER_S = 3600.0
_LATE_OUTPUT_NS = 200_000_000
"""A program that has ended may have left processes that keep its output open."""


class _Side:
    """One such program."""

    def __init__(self, program: Program, request: dict[str, Any]) -> None:
        self.program = program
        self.request = request
        self.began = time.monotonic_ns()
        self.deadline = self.began + request["timeout_ms"] * 1_000_000
        self.ended = 0
        self.status: int | None = None
        self.timed_out = False


class SideProcesses:
    """`answer` sends the result of a request. Everything runs in the turns of the main program's loop."""

    def __init__(self, loop: Loop, uid: int | None, answer: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
        self._loop = loop
        self._uid = uid
        self._answer = answer
        self._sides: dict[int, _Side] = {}

    def start(self, request: dict[str, Any]) -> None:
        program = Program(self._loop, request, self._uid, _no_turns)
        side = _Side(program, request)
        self._sides[program.begin()] = side

    def note(self, pid: int, status: int) -> None:
        """Notes that a process has ended; it may be one of these."""
        side = self._sides.get(pid)
        if side is not None:
            side.status, side.ended = status, time.monotonic_ns()

    def tick(self) -> float:
        """Ends programs at their time limit, answers for ended ones, and returns when to be called again."""
        wait_s = _FOREVER_S
        now = time.monotonic_ns()
        for pid, side in list(self._sides.items()):
            if side.status is None:
                if now >= side.deadline and not side.timed_out:
                    side.timed_out = True
                    _kill_group(pid)
                wait_s = min(wait_s, max(side.deadline - now, 1_000_000) / 1e9)
            elif side.program.output_ended or now - side.ended >= _LATE_OUTPUT_NS:
                self._tell(pid, side, side.status)
            else:
                wait_s = min(wait_s, (side.ended + _LATE_OUTPUT_NS - now) / 1e9)
        return wait_s

    def finish(self) -> None:
        """Called when the main program has ended; ends all of these."""
        for pid, side in list(self._sides.items()):
            self._tell(pid, side, _SIGKILL if side.status is None else side.status)

    def _tell(self, pid: int, side: _Side, status: int) -> None:
        del self._sides[pid]
        ended = side.ended or time.monotonic_ns()
        result = side.program.result(status, timed_out=side.timed_out, duration_ns=ended - side.began)
        self._answer(side.request, result)


def _kill_group(pid: int) -> None:
    """Kills the program's process group, which it leads."""
    try:
        posix.killpg(pid, _SIGKILL)
    except OSError:
        return  # it has just ended


def _no_turns() -> float:
    raise AssertionError("the main program turns the loop")
