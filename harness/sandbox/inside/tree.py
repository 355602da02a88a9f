"""The processes of the sandbox: their user, and how all of them are ended."""

from __future__ import annotations

import posix
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SIGKILL = 9
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
