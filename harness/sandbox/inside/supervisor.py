"""The first process of a warm container: forks a world of its own for each trial, one after the other.

It never runs anything of a trial. What it forks connects to the trial's control socket, confines itself and serves
as the launcher of an ordinary sandbox does. When the host's connection closes, the harness is done or dead: the
container ends, and with it everything in it.
"""

from __future__ import annotations

import _signal
import _socket
import hashlib  # noqa: F401  # paid for once, as the next
import posix
import sys

from harness.sandbox.inside import beside, changes, confine, files, forward, launcher, program  # noqa: F401
from harness.sandbox.inside.loop import READ, Loop
from harness.sandbox.inside.wire import Channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SIGKILL = 9
_PROBLEM_MAX = 4096


class Supervisor:
    """Serves the host; `shared` is the folder in which the host puts what each trial is given."""

    def __init__(self, host: _socket.socket, shared: str, stage: str) -> None:
        self._host = host
        self._channel = Channel(host)
        self._shared = shared
        self._stage = stage
        self._loop = Loop()
        self._trial = 0
        self._told = -1
        self._loop.watch(host.fileno(), READ, self._heard)
        self._wake_when_children_end()

    def serve(self) -> None:
        """Goes on until the host's connection closes."""
        while True:
            self._loop.turn(3600.0)
            self._reap()

    def _heard(self) -> None:
        try:
            request = self._channel.receive()
        except (EOFError, ConnectionError):
            posix._exit(0)
        if request["do"] == b"trial":
            self._begin(request)
        elif self._trial:  # "end": it does not leave by itself
            posix.kill(self._trial, _SIGKILL)

    def _begin(self, request: dict[str, Any]) -> None:
        told, problem = posix.pipe2(posix.O_CLOEXEC)
        self._trial = posix.fork()
        if self._trial == 0:
            status = 1
            try:
                self._become_launcher(request)
                status = 0
            except OSError as error:
                posix.write(problem, str(error).encode()[:_PROBLEM_MAX])
            finally:
                posix._exit(status)
        posix.close(problem)
        self._told = told

    def _become_launcher(self, request: dict[str, Any]) -> None:
        confine.die_with_parent()
        _signal.set_wakeup_fd(-1)
        control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        control.connect(self._shared + "/" + request["control"].decode())
        confine.Cell(request, self._stage, self._shared).enter()
        confine.close_all_but(control.fileno())
        launcher.serve(control)

    def _reap(self) -> None:
        while self._trial:
            pid, status = posix.waitpid(-1, posix.WNOHANG)
            if pid == 0:
                return
            if pid == self._trial:
                self._trial = 0
                problem = posix.read(self._told, _PROBLEM_MAX)
                posix.close(self._told)
                self._channel.send({"ended": status, "problem": problem})

    def _wake_when_children_end(self) -> None:
        woken, wake = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
        _signal.signal(_signal.SIGCHLD, lambda *_: None)
        _signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._loop.watch(woken, READ, lambda: _empty(woken))


def _empty(fd: int) -> None:
    posix.read(fd, 4096)


def main(control: str, shared: str, stage: str) -> None:
    """Connects to the host's socket at `control` and serves."""
    posix.mkdir(stage + "/root", 0o755)
    host = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    host.connect(control)
    try:
        Supervisor(host, shared, stage).serve()
    finally:
        sys.stderr.flush()
