"""The configuration of a sandbox's container: its restrictions, its limits, and its mounts.

`limits.memory_mb` is the memory of the programs, in addition to that of full disks. The writable places, /dev/shm and
what System V keeps are in memory too, and are added to it, so that a full disk ends no program and no program ends the
launcher: a segment or a queue outlives its process, and ending processes would not free it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import docker
from docker.errors import NotFound
from docker.types import DriverConfig, LogConfig, Mount, Ulimit

from harness.errors import SandboxError
from harness.sandbox import inside as inside_package
from harness.sandbox.engine import (
    facts_of,
    launcher_owns_places,
    more_ulimits,
    seccomp_option,
    tmpfs_options,
)
from harness.sandbox.inside.confinement import IPC_LIMITS, TERMINALS
from harness.sandbox.launched import LauncherView
from harness.sandbox.layout import Layout
from harness.sandbox.provider import SandboxPaths, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.cases import Limits

# The system calls of a sandbox: an own allow-list, because the engine's leaves AF_VSOCK open in many versions.
#
# Calls that are not listed return EPERM. Omitted on purpose: namespaces, mounts, modules, tracing (ptrace,
# process_vm_*, perf), bpf, keyrings, io_uring, userfaultfd, file handles, clock setting; also message queues (mq_*) and
# asynchronous input and output (io_*), whose limits all sandboxes would share. No 32-bit sub-architecture is declared:
# their `socketcall` passes by every rule about socket families.

_FILES = """
access chdir chmod chown chown32 close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64
fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr
fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr inotify_add_watch inotify_init
inotify_init1 inotify_rm_watch lchown lgetxattr link linkat listxattr llistxattr lremovexattr lseek lsetxattr lstat
mkdir mkdirat mknod mknodat newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read
readahead readlink readlinkat readv removexattr rename renameat renameat2 rmdir sendfile setxattr splice stat statfs
statx symlink symlinkat sync sync_file_range syncfs tee truncate umask unlink unlinkat utime utimensat utimes vmsplice
write writev
"""
_MEMORY = """
brk cachestat madvise memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall munmap
pkey_alloc pkey_free pkey_mprotect remap_file_pages
"""
_PROCESSES = """
alarm arch_prctl capget capset execve execveat exit exit_group fork futex futex_waitv futex_wait futex_wake
futex_requeue get_robust_list get_thread_area getcpu getegid geteuid getgid getgroups getitimer getpgid getpgrp getpid
getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get ioprio_set kill
landlock_add_rule landlock_create_ruleset landlock_restrict_self map_shadow_stack membarrier nanosleep pause pidfd_open
pidfd_send_signal prctl prlimit64 restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr
sched_setparam sched_setscheduler sched_yield seccomp set_robust_list set_thread_area set_tid_address setfsgid setfsuid
setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid sigaltstack
sysinfo tgkill time times tkill uname vfork wait4 waitid
"""
_TALKING = """
accept accept4 bind connect epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait
epoll_wait_old eventfd eventfd2 getpeername getrandom getsockname getsockopt ioctl listen msgctl msgget msgrcv msgsnd
pipe pipe2 poll ppoll pselect6 recvfrom recvmmsg recvmsg select semctl semget semop semtimedop sendmmsg sendmsg sendto
setsockopt shmat shmctl shmdt shmget shutdown signalfd signalfd4
"""
_TIME = """
clock_getres clock_gettime clock_nanosleep gettimeofday timer_create timer_delete timer_getoverrun timer_gettime
timer_settime timerfd_create timerfd_gettime timerfd_settime
"""

_SOCKET_FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
_PERSONALITIES = (0, 0xFFFFFFFF)
"""The default personality, and the query of the current one."""
_NEW_NAMESPACES = 0x7E020080
"""CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
_ENOSYS = 38

_Rule = dict[str, object]

MAKES_SANDBOXES = ("mount", "pivot_root", "sethostname", "umount2", "unshare")
"""Further calls for the supervisor of a warm container; a second filter refuses them to its trials."""


@cache
def seccomp_profile(more: tuple[str, ...] = ()) -> str:
    """The profile in the engine's form: `seccomp=<this>`. `more`: system calls that are allowed in addition."""
    plain = sorted([*" ".join((_FILES, _MEMORY, _PROCESSES, _TALKING, _TIME)).split(), *more])
    rules = [
        {"names": plain, "action": "SCMP_ACT_ALLOW"},
        *(_allow("socket", _argument_equals(0, family)) for family in _SOCKET_FAMILIES.values()),
        _allow("socketpair", _argument_equals(0, _SOCKET_FAMILIES["AF_UNIX"])),
        *(_allow("personality", _argument_equals(0, value)) for value in _PERSONALITIES),
        _allow("clone", {"index": 0, "value": _NEW_NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}),
        # clone3: its flags are in memory, where a filter cannot read them; without it, C libraries use clone
        {"names": ["clone3", "io_setup", "mq_open"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
    ]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "archMap": [
                {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
                {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
            ],
            "syscalls": rules,
        },
        separators=(",", ":"),
    )


def _allow(name: str, argument: _Rule) -> _Rule:
    return {"names": [name], "action": "SCMP_ACT_ALLOW", "args": [argument]}


def _argument_equals(index: int, value: int) -> _Rule:
    return {"index": index, "value": value, "op": "SCMP_CMP_EQ"}


AGENT_UID = 10001

_INODES_PER_MB = 256
_INODES_MAX = 65_536
_INODES_MIN = 4096
_MORE_MB = 4
"""Megabytes that a check's command may write in addition to an end state that is larger than its disk."""


def place_options(place: str, spec: SandboxSpec, layout: Layout) -> str:
    """How a writable place is mounted."""
    return f"rw,exec,nosuid,nodev,{place_size(place, spec, layout)}"


def place_size(place: str, spec: SandboxSpec, layout: Layout) -> str:
    """The tmpfs options of a writable place: its size and its owner."""
    size_mb = spec.limits.disk_mb
    if spec.end_state_from is not None:  # sparse files and hard links of the end state have become full files
        size_mb = max(size_mb, layout.size_mb(place) + _MORE_MB)
    inodes = min(max(size_mb * _INODES_PER_MB, _INODES_MIN), _INODES_MAX)
    uid, mode = owner_and_mode(place, layout)
    owner = f",uid={uid},gid={uid}" if uid else ""
    return f"size={size_mb}m,nr_inodes={inodes},mode={mode:04o}{owner}"


def owner_and_mode(place: str, layout: Layout) -> tuple[int, int]:
    """The user and the mode of a writable place."""
    shared = place == "/tmp" or layout.place_owner(place) == "root"
    return (0, 0o1777) if shared else (AGENT_UID, 0o755)


GATEWAY_PORT = 8700

CODE_FOLDER = "/run/harness/code"
CONTROL_FOLDER = "/run/harness/control"
GATEWAY_FOLDER = "/run/harness/gateway"
AGENT_FOLDER = "/agent"
SHARED_FOLDER = "/run/harness/shared"
STAGE_FOLDER = "/run/harness/stage"
LAYERS_FOLDER = "/run/harness/layers"
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def launcher_view(spec: SandboxSpec, layout: Layout) -> LauncherView:
    """The container of a trial as its launcher sees it."""
    socket = spec.gateway_socket
    return LauncherView(
        places=SandboxPaths(
            agent=AGENT_FOLDER,
            work="/work",
            gateway_url=None,
            gateway_socket=None if socket is None else f"{GATEWAY_FOLDER}/{socket.name}",
        ),
        temporary="/tmp",
        search_path=SEARCH_PATH,
        real={place: place for place in layout.places},
        uid=AGENT_UID,
    )


def supervisor_view(spec: SandboxSpec, layout: Layout) -> LauncherView:
    """The same for the process that writes what a warm container keeps for its trials."""
    unconnected = replace(spec, gateway_socket=None)
    return replace(
        launcher_view(unconnected, layout),
        real={place: f"{STAGE_FOLDER}/kept/{number}" for number, place in enumerate(layout.places)},
    )


def gateway_ports(spec: SandboxSpec) -> tuple[int, ...]:
    """The ports at which the gateway is reached from inside."""
    return (GATEWAY_PORT, *(() if spec.outside is None else spec.outside.ports))


def mounted_sockets(folder: Path, spec: SandboxSpec) -> dict[str, Path]:
    """The folders of this machine that are mounted into a trial's container: `folder` holds the socket that its
    launcher connects to.
    """
    gateway = {} if spec.gateway_socket is None else {GATEWAY_FOLDER: spec.gateway_socket.parent}
    return {CONTROL_FOLDER: folder, **gateway}


def shown_folders(spec: SandboxSpec) -> list[str]:
    """The part of a warm container that every trial in it sees."""
    agent = [] if spec.agent_files is None else [AGENT_FOLDER]
    return [f"{CODE_FOLDER}/harness/sandbox/inside", *agent]


def mounted_folders(sources: dict[str, Path], spec: SandboxSpec) -> list[Mount]:
    """Read-only mounts of `sources`, by path in the container, and of the launcher's and the agent's files."""
    sources[f"{CODE_FOLDER}/harness/sandbox/inside"] = Path(inside_package.__path__[0])
    if spec.agent_files is not None:
        sources[AGENT_FOLDER] = spec.agent_files
    return [Mount(target, str(source.resolve()), type="bind", read_only=True) for target, source in sources.items()]


# Engines whose own file system runs as a program (fuse-overlayfs) ask that program about every file that is opened: a
# Python program that imports an SDK waits more for that than for anything else. If the kernel can stack the layers by
# itself, a warm container shows its trials `/usr` that way.

_BY_A_PROGRAM = "fuse-overlayfs"
_ROOTLESS = "name=rootless"


def layers_by_image(info: dict[str, Any], inspect: Callable[[str], dict[str, Any]]) -> Callable[[str], list[str]]:
    """The lookup of an image's layer folders, the uppermost first; empty if the kernel mounts them itself.

    Also empty for a rootless engine: the kernel does not know how its layers mark deleted files.
    """
    if info.get("Driver") != _BY_A_PROGRAM or _ROOTLESS in (info.get("SecurityOptions") or ()):
        return lambda _: []

    def layers(image: str) -> list[str]:
        try:
            folders = (inspect(image).get("GraphDriver") or {}).get("Data") or {}
        except NotFound:  # the caller, which starts the image, reports this
            return []
        upper, lower = folders.get("UpperDir"), folders.get("LowerDir")
        return [upper, *lower.split(":")] if upper and lower else []

    return layers


TRIAL_LABEL = "harness.trial"

SHARED_MEMORY_MB = 64
_IPC_MB = 80
"""The most that `IPC_LIMITS` let segments and messages of System V take, and some for semaphores."""
_LAUNCHER_MB = 32
_LAUNCHER_PROCESSES = 2
_SUPERVISOR_MB = 32
_SUPERVISOR_PROCESSES = 3
_RELAY_MB = 512
_RELAY_PROCESSES = 8
_STARTS_AT_ONCE_MIN = 4
_DESCRIPTORS = 8192

_ISOLATION: dict[str, Any] = {
    "network_mode": "none",
    "ipc_mode": "private",
    "read_only": True,
    "auto_remove": True,
    "init": False,
    "cap_drop": ["ALL"],
}
_HIDDEN = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
]
"""Paths that the newest engines hide; older ones leave some of them open."""
_READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/sys/fs/cgroup"]
"""The engine's own list, and what `crun` mounts as a world-writable tmpfs."""
_LAUNCHERS = ("SETUID", "SETGID", "KILL", "DAC_READ_SEARCH")
"""SYS_RESOURCE is omitted, although it would protect the launcher if memory is short: many hosts refuse it."""
_SUPERVISORS = ("SYS_ADMIN", "NET_ADMIN", "SETPCAP")
_KEEPERS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID")
"""The capabilities that an overlay needs to copy what a trial changes: it uses the rights of the process that mounted
it.
"""


def _start_command(module: str, *arguments: str) -> list[str]:
    found = f"import sys; sys.path.insert(0, {CODE_FOLDER!r}); from harness.sandbox.inside.{module} import main; "
    start = f"{found}main({', '.join(repr(argument) for argument in arguments)})"
    return ["python3", "-I", "-S", "-E", "-B", "-X", "utf8", "-c", start]


class Containers:
    """Configurations for one engine, all with the same labels."""

    def __init__(self, client: docker.DockerClient, labels: Mapping[str, str]) -> None:
        self._api = client.api
        self._labels = labels
        info = client.info()
        self._engine = facts_of(client.version(), info)
        self._cpus = float(self._engine.cpus)
        self.starts_at_once = max(_STARTS_AT_ONCE_MIN, 2 * self._engine.cpus)
        """The limit of simultaneous starts: more would slow down each start without increasing the throughput."""
        self._layers = layers_by_image(info, client.api.inspect_image)
        self.mounts_sockets = self._engine.mounts_sockets
        """Whether containers can connect to sockets of this machine."""
        self._apparmor = any("apparmor" in option for option in info.get("SecurityOptions") or ())

    def config(
        self,
        sockets: Mapping[str, Path] | str,
        spec: SandboxSpec,
        snapshot: Snapshot,
        layout: Layout,
    ) -> dict[str, Any]:
        """The configuration of the container of one trial; `sockets` is what `mounted_sockets` returns, or the
        container whose sockets it shares.
        """
        shared = {"volumes_from": [f"{sockets}:ro"]} if isinstance(sockets, str) else {}
        return self._configuration(
            spec,
            snapshot,
            {TRIAL_LABEL: spec.trial_id},
            command=_start_command("launcher", f"{CONTROL_FOLDER}/control.sock"),
            cap_add=[*_LAUNCHERS, *(("CHOWN",) if launcher_owns_places(self._engine) else ())],
            security_opt=["no-new-privileges:true", seccomp_option(self._engine, seccomp_profile())],
            mounts=[
                *mounted_folders({} if isinstance(sockets, str) else dict(sockets), spec),
                *self._terminals(),
            ],
            tmpfs={place: place_options(place, spec, layout) for place in layout.places},
            sysctls=_sysctls(spec),
            **shared,
            **self._limits(spec, layout),
            **_names(spec),
        )

    def relay_config(self, spec: SandboxSpec, snapshot: Snapshot, arguments: Sequence[str]) -> dict[str, Any]:
        """The configuration of the container that has the sockets of a trial's container if none can be mounted."""
        config = self._configuration(
            replace(spec, agent_files=None),
            snapshot,
            {},
            command=_start_command("relay", *arguments),
            security_opt=["no-new-privileges:true", seccomp_option(self._engine, seccomp_profile())],
            mounts=[
                *mounted_folders({}, replace(spec, agent_files=None)),
                *(self._volume(folder) for folder in (CONTROL_FOLDER, GATEWAY_FOLDER)),
            ],
            tmpfs={},
            mem_limit=f"{_RELAY_MB}m",
            memswap_limit=f"{_RELAY_MB}m",
            pids_limit=_RELAY_PROCESSES,
            ulimits=[Ulimit(name="nofile", soft=_DESCRIPTORS, hard=_DESCRIPTORS)],
        )
        return {**config, "stdin_open": True}

    def _terminals(self) -> list[Mount]:
        """Pseudo-terminals of the container's own; not if the engine cannot mount them, nor for another kernel."""
        if self._engine.is_podman or self._engine.rootless or self._engine.default_runtime not in ("runc", "crun"):
            return []
        options = {"type": "devpts", "device": "devpts", "o": f"{TERMINALS},gid=5"}
        return [self._volume("/dev/pts", DriverConfig("local", options))]

    def _volume(self, folder: str, driver: DriverConfig | None = None) -> Mount:
        """A volume that goes with its container. Its labels name its owner, since an engine that is stopped while it
        creates a container leaves the volume without one.
        """
        return Mount(folder, None, type="volume", labels=dict(self._labels), driver_config=driver)

    def launcher_view(self, spec: SandboxSpec, layout: Layout) -> LauncherView:
        """The container of a trial as its launcher sees it; the launcher owns what the engine cannot."""
        view = launcher_view(spec, layout)
        if not launcher_owns_places(self._engine):
            return view
        return replace(view, to_own={place: owner_and_mode(place, layout) for place in layout.places})

    def warm_config(self, folder: Path, spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> dict[str, Any]:
        """The configuration of a container in which similar trials get environments of their own; `folder` is shared
        with it.

        `layout` is kept for all of them.
        """
        seccomp = seccomp_option(self._engine, seccomp_profile(MAKES_SANDBOXES))
        unconfined = ["apparmor=unconfined"] if self._apparmor else []  # its own profile denies every mount
        mountpoints = dict.fromkeys((*layout.places, GATEWAY_FOLDER), "rw,noexec,nosuid,nodev,size=4k")
        layers = self._layers_below(spec, snapshot, layout)
        kept_mb = sum(map(layout.size_mb, layout.places))
        return self._configuration(
            spec,
            snapshot,
            {},
            command=_start_command(
                "supervisor",
                f"{SHARED_FOLDER}/control.sock",
                SHARED_FOLDER,
                STAGE_FOLDER,
                f"size={SHARED_MEMORY_MB}m,mode=1777",
                ":".join(layers),
                *shown_folders(spec),
            ),
            cap_add=[*_LAUNCHERS, *_SUPERVISORS, *(_KEEPERS if layout.entries else ())],
            security_opt=["no-new-privileges:true", seccomp, *unconfined],
            mounts=mounted_folders({SHARED_FOLDER: folder, **layers}, spec),
            tmpfs={**mountpoints, STAGE_FOLDER: "rw,noexec,nosuid,nodev,size=256k,mode=0711"},
            **self._limits(spec, layout, _SUPERVISOR_MB + kept_mb, _SUPERVISOR_PROCESSES),
        )

    def _layers_below(self, spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> dict[str, Path]:
        """Where the supervisor finds the image's layers, the uppermost first."""
        # the image's own folder is used, outside the places
        if any(place.startswith("/usr/") for place in layout.places):
            return {}
        layers = self._layers(spec.image or snapshot.image or "")
        return {f"{LAYERS_FOLDER}/{number}": Path(folder) for number, folder in enumerate(layers)}

    def _configuration(
        self, spec: SandboxSpec, snapshot: Snapshot, labels: Mapping[str, str], **host: Any
    ) -> dict[str, Any]:
        image = spec.image or snapshot.image
        if image is None:
            raise SandboxError(
                f"snapshot {snapshot.name!r} names no image to run in", remedy="build it: `harness image build`"
            )
        command = host.pop("command")
        host["tmpfs"] = tmpfs_options(self._engine, host["tmpfs"])
        isolated = self._api.create_host_config(**_ISOLATION, **host, log_config=LogConfig(type="none"))
        return {
            "image": image,
            "entrypoint": [],
            "command": command,
            "user": "0:0",
            "hostname": "sandbox",
            "working_dir": "/",
            "healthcheck": {"test": ["NONE"]},
            "labels": {**self._labels, **labels},
            "host_config": {**isolated, "MaskedPaths": _HIDDEN, "ReadonlyPaths": _READ_ONLY},
        }

    def _limits(self, spec: SandboxSpec, layout: Layout, more_mb: int = 0, more_processes: int = 0) -> dict[str, Any]:
        limits = spec.limits
        memory_mb = (
            limits.memory_mb + limits.disk_mb * len(layout.places) + SHARED_MEMORY_MB + _IPC_MB + _LAUNCHER_MB + more_mb
        )
        return {
            "mem_limit": f"{memory_mb}m",
            "memswap_limit": f"{memory_mb}m",
            "pids_limit": limits.processes + _LAUNCHER_PROCESSES + more_processes,
            "nano_cpus": round(min(limits.cpus, self._cpus) * 1e9),
            "shm_size": f"{SHARED_MEMORY_MB}m",
            "ulimits": [
                Ulimit(name="nofile", soft=_DESCRIPTORS, hard=_DESCRIPTORS),
                Ulimit(name="core", soft=0, hard=0),
                *more_ulimits(self._engine),
            ],
        }


def _names(spec: SandboxSpec) -> dict[str, Any]:
    return {} if spec.outside is None else {"extra_hosts": dict.fromkeys(spec.outside.names, "127.0.0.1")}


def _sysctls(spec: SandboxSpec) -> dict[str, str]:
    # the launcher listens on the ports of the hosts outside, and could not bind low ones otherwise
    low_ports = {} if spec.outside is None else {"net.ipv4.ip_unprivileged_port_start": "0"}
    return low_ports | {f"kernel.{name}": value for name, value in IPC_LIMITS.items()}


def container_limits(limits: Limits) -> tuple[float, ...]:
    """The limits of a trial that apply to its container: memory, processes, processors, disk."""
    return (limits.memory_mb, limits.processes, limits.cpus, limits.disk_mb)
