"""A trial's namespaces and file system inside a warm container.

`Confinement.build` is called in a forked child of the supervisor and returns in the first process of the new
namespaces; after `Confinement.enter` this is as much the launcher of a sandbox as the first process of a container is.
No program of the trial can reach this code.
"""

from __future__ import annotations

import _socket
import fcntl
import platform
import posix
import struct

from harness.sandbox.inside import skeleton
from harness.sandbox.inside.privileges import die_with_parent, forbid_what_built_this, give_up_capabilities
from harness.sandbox.inside.second_filter import pivot_root_number
from harness.sandbox.inside.system_calls import libc, mount, system_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from harness.sandbox.inside.layer_cache import LayerCache

_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
_CLONE_NEWNS = 0x0002_0000
_NEW_NAMESPACES = _CLONE_NEWNS | 0x4000_0000 | 0x0800_0000 | 0x0400_0000 | 0x2000_0000 | 0x0200_0000
"""CLONE_NEWNS, NEWNET, NEWIPC, NEWUTS, NEWPID, NEWCGROUP."""
_DETACH = 2

_HIDDEN = (
    "acpi", "asound", "interrupts", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats"
)  # fmt: skip
_FROZEN = ("bus", "fs", "irq", "sys", "sysrq-trigger")
"""Paths below /proc, hidden or made read-only as the container engine does."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
                 "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}  # fmt: skip


class Confinement:
    """The environment of one trial; the part that all trials of a container share is built first.

    Every method raises OSError, whose text names the failed operation.
    """

    def __init__(self, stage: str, shared: str, shared_memory: str, shown: tuple[str, ...]) -> None:
        self._root = stage + "/root"
        self._shared = shared
        self._shared_memory = shared_memory
        self._shown = shown
        self._problem: OSError | None = None
        self._made: list[str] = []

    def build_skeleton(self, stage: str, layers: str) -> None:
        """Must be called once, in the supervisor. `build` raises its error."""
        try:
            skeleton.build(stage, layers, mount)
        except OSError as error:
            self._problem = error

    def build(self) -> None:
        """Returns in the first process of the new namespaces; the calling process waits for it and ends with it."""
        if self._problem is not None:
            raise self._problem
        if libc.unshare(_NEW_NAMESPACES) != 0:
            raise system_error("unshare")
        held = _descriptors()  # read now, because the new /proc does not show the waiting process
        first = posix.fork()
        if first:
            _close(held)
            _, status = posix.waitpid(first, 0)
            posix._exit(1 if posix.WIFSIGNALED(status) else posix.WEXITSTATUS(status))
        die_with_parent()
        name = b"sandbox"
        if libc.sethostname(name, len(name)) != 0:
            raise system_error("sethostname")
        _loopback_up()
        self._build_root()

    def enter(self, request: dict[str, Any], kept: LayerCache) -> dict[bytes, int]:
        """Adds the trial's own part, and drops all privileges that the construction needed.

        For each place that is an overlay of `kept` files: returns a descriptor of the folder with the trial's changes.
        """
        if request["low_ports"]:
            _put(self._root + "/proc/sys/net/ipv4/ip_unprivileged_port_start", b"0")
        self._freeze_proc()
        self._name_hosts(request["hosts"])
        if "gateway" in request:
            self._show(self._shared + "/" + request["gateway"].decode(), request["gateway_at"].decode())
        uppers = {}
        for path, options in request["places"]:
            target = self._root + path.decode()
            if request["kept"] and kept.has(path):
                uppers[path] = kept.mount_overlay(path, target, options.decode())
            else:
                mount("tmpfs", target, "tmpfs", _NOSUID | _NODEV, options.decode())
        for folder in self._made:
            mount("none", folder, None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV)
        self._turn_over()
        give_up_capabilities()
        forbid_what_built_this()
        return uppers

    def _build_root(self) -> None:
        mount("none", "/", None, _REC | _PRIVATE)
        self._build_proc()
        mount("/sys", self._root + "/sys", None, _BIND | _REC)
        self._build_dev()
        for path in self._shown:
            self._show(path, path)

    def _build_proc(self) -> None:
        proc = self._root + "/proc"
        mount("proc", proc, "proc", _NOSUID | _NODEV | _NOEXEC)
        for name in _HIDDEN:
            self._hide(proc + "/" + name)

    def _freeze_proc(self) -> None:
        for name in _FROZEN:
            path = self._root + "/proc/" + name
            if _exists(path):
                mount(path, path, None, _BIND | _REC)
                mount("none", path, None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV | _NOEXEC)

    def _hide(self, path: str) -> None:
        if not _exists(path):
            return
        if posix.stat(path).st_mode & 0o170000 == 0o040000:
            mount("tmpfs", path, "tmpfs", _RDONLY | _NOSUID | _NODEV, "size=0,mode=0555")
        else:
            mount("/dev/null", path, None, _BIND)

    def _build_dev(self) -> None:
        dev = self._root + "/dev"
        mount("tmpfs", dev, "tmpfs", _NOSUID, "size=64k,mode=0755")
        for name in _DEVICES:
            posix.close(posix.open(dev + "/" + name, posix.O_CREAT | posix.O_WRONLY | posix.O_CLOEXEC, 0o666))
            mount("/dev/" + name, dev + "/" + name, None, _BIND)
        for name, target in _DEVICE_LINKS.items():
            posix.symlink(target, dev + "/" + name)
        for name in ("pts", "shm", "mqueue"):
            posix.mkdir(dev + "/" + name, 0o755)
        mount("devpts", dev + "/pts", "devpts", _NOSUID | _NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
        mount("mqueue", dev + "/mqueue", "mqueue", _NOSUID | _NODEV | _NOEXEC)
        mount("shm", dev + "/shm", "tmpfs", _NOSUID | _NODEV | _NOEXEC, self._shared_memory)

    def _name_hosts(self, hosts: bytes) -> None:
        """Replaces the engine's hosts file, which contains the warm container's host name, by the trial's."""
        stage = self._root.rpartition("/")[0]
        _put(stage + "/hosts", hosts)
        _put(stage + "/hostname", b"sandbox\n")
        for name in ("hosts", "hostname"):
            target = self._root + "/etc/" + name
            if _exists(target):
                mount(stage + "/" + name, target, None, _BIND)
                mount("none", target, None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV)

    def _show(self, source: str, target: str) -> None:
        self._make_mount_point(target)
        mount(source, self._root + target, None, _BIND)
        mount("none", self._root + target, None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV)

    def _make_mount_point(self, target: str) -> None:
        """Creates it in memory where the image has none: an engine that mounts a file system of its own at /run has
        made the container's mount points there.
        """
        missing = []
        while not _exists(self._root + target):
            missing.append(self._root + target)
            target = target.rpartition("/")[0]
        if not missing:
            return
        folder = self._root + target
        if not any(folder == made or folder.startswith(made + "/") for made in self._made):
            mount("tmpfs", folder, "tmpfs", _NOSUID | _NODEV, "size=64k,mode=0755")
            self._made.append(folder)
        for path in reversed(missing):
            posix.mkdir(path, 0o755)

    def _turn_over(self) -> None:
        """Replaces the old root by the new one and unmounts the old: no path leads outside."""
        posix.chdir(self._root)
        if libc.syscall(pivot_root_number(platform.machine()), b".", b".") != 0:
            raise system_error("pivot_root")
        if libc.umount2(b".", _DETACH) != 0:
            raise system_error("umount of the old root")
        posix.chdir("/")


def unshare_mounts() -> None:
    """Makes later mounts private to this process; they vanish when it ends."""
    if libc.unshare(_CLONE_NEWNS) != 0:
        raise system_error("unshare")
    mount("none", "/", None, _REC | _PRIVATE)


def close_all_but(*kept: int) -> None:
    """Closes all descriptors of the supervisor but these; the standard ones are connected to /dev/null."""
    null = posix.open("/dev/null", posix.O_RDWR)
    for standard in (0, 1, 2):
        posix.dup2(null, standard)
    _close(number for number in _descriptors() if number not in kept)


def _descriptors() -> list[int]:
    return [int(name) for name in posix.listdir("/proc/self/fd") if int(name) > 2]


def _close(descriptors: Iterable[int]) -> None:
    for number in descriptors:
        try:
            posix.close(number)
        except OSError:
            continue  # the descriptor that listed them


def _loopback_up() -> None:
    with_flags = struct.pack("16sh14x", b"lo", 0x41)  # IFF_UP, IFF_RUNNING
    asked = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    fcntl.ioctl(asked.fileno(), 0x8914, with_flags)  # SIOCSIFFLAGS
    asked.close()


def _put(path: str, content: bytes) -> None:
    fd = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC, 0o644)
    try:
        posix.write(fd, content)
    finally:
        posix.close(fd)


def _exists(path: str) -> bool:
    try:
        posix.stat(path)
    except OSError:
        return False
    return True
