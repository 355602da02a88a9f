"""Runs one program: its output is captured up to a limit, and its process tree ends with it or at its time limit."""

from __future__ import annotations

import _signal
import posix
import time

from harness.sandbox.inside import tree
from harness.sandbox.inside.loop import READ, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CHUNK = 1 << 16
_END = 1 << 14
_AFTER_THE_END_S = 5.0
_NOT_FOUND = 127
_NOT_RUNNABLE = 126


def _nobody(pid: int, status: int) -> None:
    """Ignores the end of orphans."""


class Output:
    """The output of one pipe: the first and last bytes are kept, all bytes are counted."""

    def __init__(self, loop: Loop, keep: int) -> None:
        self.read_end, self.write_end = posix.pipe2(posix.O_CLOEXEC)
        posix.set_blocking(self.read_end, False)
        self._loop = loop
        self._keep = keep
        self._kept: list[bytes] = []
        self.end = b""
        self.total = 0
        self.open = True
        loop.watch(self.read_end, READ, self._read)

    @property
    def kept(self) -> bytes:
        return b"".join(self._kept)

    def started(self) -> None:
        """Called when the program has its end of the pipe."""
        posix.close(self.write_end)

    def close(self) -> None:
        if self.open:
            self.open = False
            self._loop.forget(self.read_end)
            posix.close(self.read_end)

    def _read(self) -> None:
        try:
            data = posix.read(self.read_end, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        most = min(self._keep, _END)
        if self.total + len(data) > self._keep:
            before = self.kept if self.total <= self._keep else self.end
            self.end = data[-most:] if len(data) >= most else (before + data)[-most:]
        if self.total < self._keep:
            self._kept.append(data[: self._keep - self.total])
        self.total += len(data)


class Program:
    """One run of a program. `between` is called in each turn of the loop and says when it wants to be called again."""

    def __init__(
        self,
        loop: Loop,
        request: dict[str, Any],
        uid: int | None,
        between: Callable[[], float],
        others: Callable[[int, int], None] = _nobody,
    ) -> None:
        self._loop = loop
        self._others = others
        self._request = request
        self._uid = uid
        self._between = between
        self._out = Output(loop, request["keep"])
        self._err = Output(loop, request["keep"])
        self._status: int | None = None
        self._pid = 0
        self._deadline = time.monotonic_ns() + request["timeout_ms"] * 1_000_000

    def expire(self) -> None:
        """Ends the program as if its time limit were reached."""
        self._deadline = 0

    def begin(self) -> int:
        """Starts the program for a caller that waits for it; returns its process id, which is also its group's."""
        self._start()
        return self._pid

    @property
    def output_ended(self) -> bool:
        return not (self._out.open or self._err.open)

    def result(self, status: int, *, timed_out: bool, duration_ns: int) -> dict[str, Any]:
        """The result of the program; later output is discarded."""
        self._out.close()
        self._err.close()
        return {
            "status": status,
            "timed_out": int(timed_out),
            "duration_ns": duration_ns,
            "out": self._out.kept,
            "err": self._err.kept,
            "out_end": self._out.end,
            "err_end": self._err.end,
            "out_bytes": self._out.total,
            "err_bytes": self._err.total,
        }

    def run(self, namespaced: bool) -> dict[str, Any]:
        began = time.monotonic_ns()
        self._start()
        while self._status is None and time.monotonic_ns() < self._deadline:
            self._turn(self._deadline - time.monotonic_ns())
            self._note(tree.reap()[0])
        timed_out = self._status is None
        ended = time.monotonic_ns()
        self._note(tree.end_all(namespaced=namespaced))
        self._drain()
        assert self._status is not None  # all processes have ended
        return self.result(self._status, timed_out=timed_out, duration_ns=ended - began)

    def _start(self) -> None:
        self._pid = posix.fork()
        if self._pid == 0:
            try:
                self._become_program()
            finally:
                posix._exit(_NOT_RUNNABLE)
        self._out.started()
        self._err.started()

    def _turn(self, left_ns: int) -> None:
        self._loop.turn(min(left_ns / 1e9, self._between()))

    def _note(self, ended: list[tuple[int, int]]) -> None:
        for pid, status in ended:
            if pid == self._pid:
                self._status = status
            else:
                self._others(pid, status)

    def _drain(self) -> None:
        """Reads to the end of the pipes: all writers have ended, unless a process cannot be killed (hence the time
        limit).
        """
        deadline = time.monotonic() + _AFTER_THE_END_S
        while (self._out.open or self._err.open) and time.monotonic() < deadline:
            self._turn(50_000_000)

    def _become_program(self) -> None:
        posix.setsid()
        for ignored in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores these, and a program would inherit that
            _signal.signal(ignored, _signal.SIG_DFL)
        null = posix.open("/dev/null", posix.O_RDONLY)
        posix.dup2(null, 0)
        posix.dup2(self._out.write_end, 1)
        posix.dup2(self._err.write_end, 2)
        tree.first_to_go()
        tree.become(self._uid)
        posix.umask(0o022)
        argv = self._request["argv"]
        environment = dict(item.split(b"=", 1) for item in self._request["env"])
        try:
            posix.chdir(self._request["cwd"])
            error = _execute(argv, environment)
        except OSError as stopped:
            error = stopped
        except ValueError as refused:  # a NUL in an argument
            error = OSError(22, str(refused))
        reason = error.strerror or str(error)
        posix.write(2, b"harness: cannot run " + argv[0] + b": " + reason.encode() + b"\n")
        posix._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_RUNNABLE)


def _execute(argv: list[bytes], environment: dict[bytes, bytes]) -> OSError:
    """Returns only where nothing could be executed: the most informative error of all attempts."""
    if b"/" in argv[0]:
        places = [argv[0]]
    else:
        places = [place + b"/" + argv[0] for place in environment.get(b"PATH", b"").split(b":") if place]
    found: OSError = FileNotFoundError(2, "No such file or directory")
    for place in places:
        try:
            posix.execve(place, argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            found = error
    return found
