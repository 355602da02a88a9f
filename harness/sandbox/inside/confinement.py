"""A trial's namespaces, file system and privileges inside a warm container."""

from __future__ import annotations

import _socket
import ctypes
import errno
import fcntl
import platform
import posix
import struct

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from harness.sandbox.inside.layers import LayerCache


# If the image's file system is one of user space (fuse-overlayfs), the kernel asks its daemon about each folder of a
# path, each time, for every user who does not own the folder: a third of the start of a Python program. The folders
# that nearly every path leads through are therefore created in memory, with their content bind-mounted. If the engine
# shows the layers that the image is made of, `/usr` comes from them, stacked by the kernel.

_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
"""The flags of mount(2)."""
_USR = "/usr"
_GONE = ".wh."
_MADE_ANEW = ("/usr", "/usr/lib", "/usr/local", "/usr/local/lib")
_KIND, _FOLDER, _LINK = 0o170000, 0o040000, 0o120000


def build_skeleton(stage: str, layers: str) -> None:
    """Mounts the root at `root` in the folder `stage`, and its sources at `image` and `usr` there.

    `layers` are folders divided by colons, the uppermost first; empty: the image is used as the engine mounts it.
    """
    image, root = stage + "/image", stage + "/root"
    mount("/", image, None, _BIND)
    mount("none", image, None, _BIND | _REMOUNT | _RDONLY)
    mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, "size=1m,mode=0755")
    quicker = stage + _USR if _mount_layers(layers, stage + _USR, image) else None
    _Skeleton(image, quicker, root).make("")
    make_read_only(root)


def _mount_layers(layers: str, place: str, image: str) -> bool:
    """Mounts the layers at `place`; returns whether they equal what the engine shows."""
    upper = layers.split(":")[:-1]
    try:
        if not upper or any(_leaves_out(layer + _USR) for layer in upper):
            return False
        mount("overlay", place, "overlay", _RDONLY | _NOSUID | _NODEV, "lowerdir=" + layers)
        return _folder_state(place + _USR) == _folder_state(image + _USR)
    except OSError:
        return False  # this kernel does not support it, or denies it


def _leaves_out(folder: str) -> bool:
    """Whether the layer marks deleted files in a way that the kernel does not know."""
    waiting = [folder]
    while waiting:
        try:
            entries = list(posix.scandir(waiting.pop()))
        except FileNotFoundError:
            continue  # the layer has no such folder
        if any(entry.name.startswith(_GONE) for entry in entries):
            return True
        waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return False


def _folder_state(folder: str) -> tuple[object, ...]:
    found = posix.lstat(folder)
    return found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, sorted(posix.listdir(folder))


class _Skeleton:
    def __init__(self, image: str, quicker: str | None, root: str) -> None:
        self._image = image
        self._quicker = quicker
        self._root = root

    def make(self, folder: str) -> None:
        """Creates a folder with its whole content, then sets the folder's own mode and time."""
        for name in posix.listdir(self._image + folder):
            path = folder + "/" + name
            source = self._image_path(path)
            found = posix.lstat(source)
            if found.st_mode & _KIND == _LINK:
                posix.symlink(posix.readlink(source), self._root + path)
                posix.utime(self._root + path, ns=(found.st_atime_ns, found.st_mtime_ns), follow_symlinks=False)
            elif path in _MADE_ANEW and (found.st_mode & _KIND, found.st_uid, found.st_gid) == (_FOLDER, 0, 0):
                posix.mkdir(self._root + path, 0o755)
                self.make(path)
            else:
                self._bind(source, path, found.st_mode & _KIND == _FOLDER)
        found = posix.lstat(self._image + folder)
        posix.chmod(self._root + folder, found.st_mode & 0o7777)
        posix.utime(self._root + folder, ns=(found.st_atime_ns, found.st_mtime_ns))

    def _image_path(self, path: str) -> str:
        if self._quicker is not None and (path == _USR or path.startswith(_USR + "/")):
            return self._quicker + path
        return self._image + path

    def _bind(self, source: str, path: str, is_folder: bool) -> None:
        if is_folder:
            posix.mkdir(self._root + path, 0o755)
        else:
            posix.close(posix.open(self._root + path, posix.O_CREAT | posix.O_WRONLY | posix.O_CLOEXEC, 0o644))
        mount(source, self._root + path, None, _BIND)


# System calls by number, which differ between machines: those that build a trial's environment, and the filter that
# refuses them afterwards.
#
# The filter is classic BPF, as `(code, jump if true, jump if false, operand)`. It sees number, architecture, arguments.

_CALLS = {
    "x86_64": (0xC000_003E, {"pivot_root": 155, "mount": 165, "umount2": 166, "sethostname": 170, "unshare": 272}, 56),
    "aarch64": (0xC000_00B7, {"pivot_root": 41, "mount": 40, "umount2": 39, "sethostname": 161, "unshare": 97}, 220),
}
"""Audit architecture, the system calls that only the supervisor may make, and `clone`."""
_CLONE_NAMESPACES = 0x7E02_0080
_LOAD, _EQUAL, _AT_LEAST, _MASKED, _GIVE = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = (_GIVE, 0, 0, 0x7FFF_0000), (_GIVE, 0, 0, 0x0005_0001)
"""SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO with EPERM."""
_X32 = 0x4000_0000
"""Set in the numbers of x86-64's second table."""


def pivot_root_number(machine: str) -> int:
    """Raises OSError for a machine whose numbers are not known."""
    return _system_calls_of(machine)[1]["pivot_root"]


def second_filter(machine: str) -> list[tuple[int, int, int, int]]:
    """Refuses the calls that only the supervisor's filter allows: the result equals a sandbox's own filter.

    Raises OSError for a machine whose numbers are not known.
    """
    architecture, denied, clone = _system_calls_of(machine)
    numbers = list(denied.values())
    # behind these: [clone's flags: load, test], allow, refuse
    rest = len(numbers) + 1  # comparisons of call numbers
    program = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 0, rest + 5, architecture),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, rest + 3, 0, _X32),
    ]
    for done, number in enumerate(numbers):
        program.append((_EQUAL, rest - done + 2, 0, number))
    return [*program, (_EQUAL, 0, 2, clone), (_LOAD, 0, 0, 16), (_MASKED, 1, 0, _CLONE_NAMESPACES), _ALLOW, _REFUSE]


def _system_calls_of(machine: str) -> tuple[int, dict[str, int], int]:
    found = _CALLS.get(machine)
    if found is None:
        known = " and ".join(_CALLS)
        raise OSError(errno.ENOSYS, f"warm sandboxes need {known}, and this machine is {machine}: use --sandbox docker")
    return found


# The system calls that Python has no function for, by `ctypes`, which the supervisor imports once.

libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """The system call `mount`; raises OSError that names the target."""
    texts = [None if text is None else text.encode("utf-8", "surrogateescape") for text in (source, target, kind, data)]
    if libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]) != 0:
        raise system_error("mount of " + target)


def make_read_only(path: str, more: int = 0) -> None:
    """Mounts what is mounted at `path` anew, read-only."""
    mount("none", path, None, _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV | more)


def prctl(option: int, value: int) -> None:
    """The system call `prctl`; raises OSError."""
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise system_error(f"prctl {option}")


def system_error(what: str) -> OSError:
    """The error of the last call, whose text names what failed."""
    number = ctypes.get_errno()
    return OSError(number, what + ": " + posix.strerror(number))


# The privileges that a trial's launcher keeps: its capabilities, the second filter of system calls, and its end.
#
# After `give_up_capabilities` and `forbid_what_built_this` the process has the rights of a container's first process.

_KEPT_CAPABILITIES = (2, 5, 6, 7)
"""DAC_READ_SEARCH, KILL, SETGID, SETUID: the capabilities of a container's launcher."""
_LAST_CAPABILITY = 63
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT = 1, 22, 24, 47
_CAP_AMBIENT_CLEAR_ALL = 4
_SIGKILL = 9


def die_with_parent() -> None:
    """Kills this process when the supervisor ends."""
    prctl(_PR_SET_PDEATHSIG, _SIGKILL)


def give_up_capabilities() -> None:
    for number in range(_LAST_CAPABILITY + 1):
        if number not in _KEPT_CAPABILITIES and libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(number), 0, 0, 0) != 0:
            if ctypes.get_errno() == 22:  # beyond the last capability of this kernel
                break
            raise system_error(f"dropping capability {number}")
    prctl(_PR_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL)
    kept = sum(1 << number for number in _KEPT_CAPABILITIES)
    header = struct.pack("Ii", 0x2008_0522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    low = struct.pack("III", kept, kept, 0)  # effective, permitted, inheritable
    if libc.capset(header, low + struct.pack("III", 0, 0, 0)) != 0:
        raise system_error("capset")


def forbid_what_built_this() -> None:
    """Refuses the calls that only the supervisor's filter allows: the result equals a sandbox's own filter."""
    program = second_filter(platform.machine())
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    held = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("H6xP", len(program), ctypes.addressof(held))
    if libc.prctl(_PR_SET_SECCOMP, 2, described, 0, 0) != 0:
        raise system_error("the second filter")


# `Confinement.build` is called in a forked child of the supervisor and returns in the first process of the new
# namespaces; after `Confinement.enter` this is as much the launcher of a sandbox as the first process of a container
# is. No program of the trial can reach this code.

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

# What System V keeps outlives the processes, so that ending them frees nothing; the kernel's own limits are without
# end, or shared by all containers.

IPC_LIMITS = {
    "shmall": "16384",  # pages: 64 MB
    "shmmax": "67108864",
    "shmmni": "256",
    "msgmni": "12",
    "msgmnb": "16384",  # messages of one byte, of which each takes 64: 1 MB a queue
    "sem": "250 8192 32 128",
}
"""Limits of an IPC namespace, by their names below /proc/sys/kernel."""
TERMINALS = "newinstance,ptmxmode=0666,mode=0620,max=64"
"""The options of a sandbox's pseudo-terminals; without `max`, one sandbox could take all that the machine has."""


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
            build_skeleton(stage, layers)
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
            _write_file(self._root + "/proc/sys/net/ipv4/ip_unprivileged_port_start", b"0")
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
            make_read_only(folder)
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
        for name, value in IPC_LIMITS.items():
            _write_file(proc + "/sys/kernel/" + name, value.encode())
        for name in _HIDDEN:
            self._hide(proc + "/" + name)

    def _freeze_proc(self) -> None:
        for name in _FROZEN:
            path = self._root + "/proc/" + name
            if _exists(path):
                mount(path, path, None, _BIND | _REC)
                make_read_only(path, _NOEXEC)

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
        mount("devpts", dev + "/pts", "devpts", _NOSUID | _NOEXEC, TERMINALS)
        mount("mqueue", dev + "/mqueue", "mqueue", _NOSUID | _NODEV | _NOEXEC)
        mount("shm", dev + "/shm", "tmpfs", _NOSUID | _NODEV | _NOEXEC, self._shared_memory)

    def _name_hosts(self, hosts: bytes) -> None:
        """Replaces the engine's hosts file, which contains the warm container's host name, by the trial's."""
        stage = self._root.rpartition("/")[0]
        _write_file(stage + "/hosts", hosts)
        _write_file(stage + "/hostname", b"sandbox\n")
        for name in ("hosts", "hostname"):
            target = self._root + "/etc/" + name
            if _exists(target):
                mount(stage + "/" + name, target, None, _BIND)
                make_read_only(target)

    def _show(self, source: str, target: str) -> None:
        self._make_mount_point(target)
        mount(source, self._root + target, None, _BIND)
        make_read_only(self._root + target)

    def _make_mount_point(self, target: str) -> None:
        """Creates it in memory if the image has none: an engine that mounts a file system of its own at /run has
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


def _write_file(path: str, content: bytes) -> None:
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
