"""The first process of a warm container: forks an environment for each trial, one after the other.

It never runs anything of a trial. While no trial runs, it builds the next environment, as far as it is the same
for every trial. The forked process then waits for the trial's own part and the trial's control connection,
confines itself and serves as the launcher of an ordinary sandbox does. When the host's connection closes, the harness
has finished or died: the container ends with everything in it.
"""

from __future__ import annotations

import _signal
import _socket
import hashlib  # noqa: F401  # imported once here, so that forked processes need not
import posix
import sys

from harness.sandbox.inside import confinement, launcher, processes
from harness.sandbox.inside.confinement import die_with_parent, mount
from harness.sandbox.inside.layers import LayerCache, Overlaid
from harness.sandbox.inside.loop import READ, Loop
from harness.sandbox.inside.wire import Channel, FdReceiver, send_with_fd

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# The modules that nothing names here are imported once, so that forked processes need not.


_PROBLEM_MAX = 4096


class TrialProcess:
    """A forked process that waits for its trial, or runs it."""

    def __init__(self, cell: confinement.Confinement, kept: LayerCache) -> None:
        self._problem, problem = posix.pipe2(posix.O_CLOEXEC)
        here, there = _socket.socketpair()
        self._supervisors = here
        self.status: int | None = None
        self.pid = posix.fork()
        if self.pid == 0:
            status = 1
            try:
                here.close()
                _become_launcher(cell, kept, there)
                status = 0
            except EOFError:
                pass  # the supervisor has ended
            except OSError as error:
                posix.write(problem, str(error).encode()[:_PROBLEM_MAX])
            finally:
                posix._exit(status)
        posix.close(problem)
        there.close()

    def begin(self, request: dict[str, Any], control: int) -> None:
        """Passes the trial to the process; `end` reports a process that has ended already."""
        try:
            send_with_fd(self._supervisors, request, control)
        except OSError:
            return
        finally:
            posix.close(control)
            self._supervisors.close()

    def end(self) -> dict[str, Any]:
        """The result, once its status is known."""
        try:
            return {"ended": self.status, "problem": posix.read(self._problem, _PROBLEM_MAX)}
        finally:
            posix.close(self._problem)


def _become_launcher(cell: confinement.Confinement, kept: LayerCache, supervisor: _socket.socket) -> None:
    die_with_parent()
    _signal.set_wakeup_fd(-1)
    cell.build()
    receiver = FdReceiver(supervisor)
    request = Channel(receiver).receive()
    control = _socket.socket(fileno=receiver.taken())
    uppers = cell.enter(request, kept)
    confinement.close_all_but(control.fileno(), *uppers.values())
    launcher.serve(control, Overlaid(kept, uppers) if uppers else None)


class Supervisor:
    """Serves the host."""

    def __init__(self, host: _socket.socket, cell: confinement.Confinement, kept: LayerCache) -> None:
        self._receiver = FdReceiver(host)
        self._channel = Channel(self._receiver)
        self._kept = kept
        self._cell = cell
        self._write_shared_data(self._channel.receive())
        self._loop = Loop()
        self._trial: TrialProcess | None = None
        self._loop.watch(host.fileno(), READ, self._handle_request)
        processes.wake_when_children_end(self._loop)
        self._next = TrialProcess(cell, kept)

    def serve(self) -> None:
        """Serves until the host's connection closes."""
        while True:
            self._loop.turn(3600.0)
            self._reap()

    def _write_shared_data(self, request: dict[str, Any]) -> None:
        """Lets a launcher write what every trial shall see, as for a sandbox, before the first trial."""
        if not request["places"]:
            return
        self._kept.prepare(request["places"])
        control = _socket.socket(fileno=self._receiver.taken())
        _forked(lambda: launcher.serve(control))
        control.close()
        self._kept.note()
        works = _forked(self._try_kept)
        if not works:
            self._kept.forget()
        self._channel.send({"kept": int(works)})

    def _try_kept(self) -> None:
        confinement.unshare_mounts()
        self._kept.try_out()

    def _handle_request(self) -> None:
        try:
            request = self._channel.receive()
        except (EOFError, ConnectionError):
            posix._exit(0)
        self._trial = self._next
        self._trial.begin(request, self._receiver.taken())

    def _reap(self) -> None:
        """Reaps ended processes; no trial runs when the next environment is built."""
        for pid, status in processes.reap()[0]:
            if pid == self._next.pid:
                self._next.status = status
        if self._trial is not None and self._trial.status is not None:
            self._channel.send(self._trial.end())
            self._trial = None
            self._next = TrialProcess(self._cell, self._kept)


def _forked(work: Callable[[], None]) -> bool:
    """Whether the work succeeded in a forked process."""
    pid = posix.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except OSError:
            pass  # the parent has a fallback
        finally:
            posix._exit(status)
    return posix.waitpid(pid, 0)[1] == 0


def main(control: str, shared: str, stage: str, shared_memory: str, layers: str, *shown: str) -> None:
    """Connects to the host's socket at `control` and serves; each trial sees the folders `shown`.

    `shared` is the folder in which the host puts the files of each trial.
    """
    for name in ("root", "image", "usr"):
        posix.mkdir(stage + "/" + name, 0o755)
    cell = confinement.Confinement(stage, shared, shared_memory, shown)
    cell.build_skeleton(stage, layers)
    host = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    host.connect(control)
    try:
        Supervisor(host, cell, LayerCache(stage, mount)).serve()
    except EOFError:
        pass  # the harness disconnected before the first trial
    finally:
        sys.stderr.flush()
