"""The programs and processes of the sandbox: started, their output captured, and all of them ended."""

from __future__ import annotations

import _signal
import posix
import time

from harness.sandbox.inside.loop import READ, Loop

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_WITHIN_S = 20.0
_PR_SET_CHILD_SUBREAPER = 36


class CannotBeKilled(Exception):
    """Processes that cannot be killed (they hang in the kernel)."""


def become(uid: int | None) -> None:
    """Drops all privileges of the launcher before a program starts; None: it has none (local)."""
    if uid is None:
        return
    posix.setgroups([])
    posix.setresgid(uid, uid, uid)
    posix.setresuid(uid, uid, uid)


def act_as(uid: int) -> None:
    """Acts as that user, so that the kernel enforces its permissions; no process of that user can signal this one."""
    posix.setgroups([])
    posix.setresgid(uid, uid, uid)
    posix.setresuid(0, uid, 0)


def first_to_go() -> None:
    """Makes programs, not the launcher, the victims of the out-of-memory killer."""
    fd = posix.open("/proc/self/oom_score_adj", posix.O_WRONLY)
    posix.write(fd, b"1000")
    posix.close(fd)


def adopt_orphans() -> None:
    """Outside of a process namespace: what a program leaves behind becomes the launcher's child, and can be ended."""
    import ctypes  # slow to import, and the container never needs it

    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def end_all(*, namespaced: bool) -> list[tuple[int, int]]:
    """Kills until no process is left, because a fork may outrun a kill; returns the statuses of those that ended."""
    kill_others: Callable[[], None] = _kill_namespace if namespaced else _kill_descendants
    ended: list[tuple[int, int]] = []
    deadline = time.monotonic() + _WITHIN_S
    pause_s = 0.0002
    while True:
        kill_others()
        more, children_left = reap()
        ended += more
        if not children_left:
            return ended
        if time.monotonic() > deadline:
            raise CannotBeKilled
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.02)


def wake_when_children_end(loop: Loop) -> None:
    """Makes the loop turn when a child of this process ends."""
    woken, wake = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    _signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    loop.watch(woken, READ, lambda: _drain_once(woken))


def _drain_once(fd: int) -> None:
    posix.read(fd, 4096)


def reap() -> tuple[list[tuple[int, int]], bool]:
    """Reaps the children that ended; returns them, and whether any is left."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = posix.waitpid(-1, posix.WNOHANG)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        ended.append((pid, status))


def _kill_namespace() -> None:
    """Kills all processes but process 1, the launcher: every orphan of the namespace is its child."""
    try:
        posix.kill(-1, _SIGKILL)
    except ProcessLookupError:
        return


def _kill_descendants() -> None:
    children: dict[int, list[int]] = {}
    for name in posix.listdir("/proc"):
        if name.isdigit():
            children.setdefault(_parent_of(name), []).append(int(name))
    waiting = [posix.getpid()]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            waiting.append(pid)
            try:
                posix.kill(pid, _SIGKILL)
            except OSError:
                continue  # already ended, or another user's (a set-uid program): reaped when it ends


def _parent_of(pid: str) -> int:
    try:
        fd = posix.open("/proc/" + pid + "/stat", posix.O_RDONLY)
    except OSError:
        return 0
    try:
        return int(posix.read(fd, 4096).rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    finally:
        posix.close(fd)


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
        loop.watch(self.read_end, READ, self._read_output)

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

    def _read_output(self) -> None:
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
            self._note_statuses(reap()[0])
        timed_out = self._status is None
        ended = time.monotonic_ns()
        self._note_statuses(end_all(namespaced=namespaced))
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

    def _note_statuses(self, ended: list[tuple[int, int]]) -> None:
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
        first_to_go()
        become(self._uid)
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
    """Returns only if nothing could be executed: the most informative error of all attempts."""
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


# Programs that the host starts while the agent's runs: they end with it at the latest.

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
                self._report_exit(pid, side, side.status)
            else:
                wait_s = min(wait_s, (side.ended + _LATE_OUTPUT_NS - now) / 1e9)
        return wait_s

    def finish(self) -> None:
        """Called when the main program has ended; ends all of these."""
        for pid, side in list(self._sides.items()):
            self._report_exit(pid, side, _SIGKILL if side.status is None else side.status)

    def _report_exit(self, pid: int, side: _Side, status: int) -> None:
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
