"""Processes: the identity of one that created a resource, and what a program inherits of the environment."""

import hashlib
import os
import re
import signal
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

# The identity of the process that created a resource, so that leftovers of dead processes are distinguished from
# resources in use.
#
# The name of an owner shows whether it is alive, even after its process id was reused: it consists of machine, boot,
# process-id namespace, process id and the process's start time. An owner on another machine or in another namespace
# cannot be judged from here and counts as alive.

OWNER_VARIABLE = "HARNESS_OWNER"
"""In the environment of programs that this process starts, and that may go on after it."""

_PROC = Path("/proc")
_NAME_MAX = 120
_NAMED = re.compile(r"(?<![0-9a-f])[0-9a-f]{6}\.[0-9a-f]{6}\.[0-9a-f]{1,6}\.\d+\.\d+")


@dataclass(frozen=True, kw_only=True)
class ProcessIdentity:
    """One process, named for good."""

    machine: str
    boot: str
    namespace: str
    pid: int
    started: str

    def __str__(self) -> str:
        return f"{self.machine}.{self.boot}.{self.namespace}.{self.pid}.{self.started}"

    @classmethod
    def current(cls) -> "ProcessIdentity":
        return _of_process(os.getpid())

    @classmethod
    def parse(cls, text: str) -> "ProcessIdentity | None":
        """None: not written by us."""
        parts = text.split(".")
        if len(parts) != 5 or not parts[3].isdecimal():
            return None
        return cls(machine=parts[0], boot=parts[1], namespace=parts[2], pid=int(parts[3]), started=parts[4])

    def is_alive(self) -> bool:
        """True also if it cannot be determined."""
        if self.machine != _machine():
            return True
        if self.boot != _boot():
            return False
        if self.namespace != _namespace():
            return True
        return _is_running(self.pid) and _started(str(self.pid)) == self.started


def partial_name(what: str) -> str:
    """A hidden, unique name for an incomplete file or folder, which contains its owner's identity."""
    return f".{what[:_NAME_MAX]}-{ProcessIdentity.current()}-{uuid.uuid4().hex[:8]}"


def abandoned_partials(root: Path) -> Iterator[Path]:
    """Incomplete files and folders of dead processes anywhere below `root`; those of live processes are skipped."""
    for folder, folders, names in os.walk(root):
        for name in (*folders, *names):
            found = _NAMED.search(name) if name.startswith(".") else None
            owner = None if found is None else ProcessIdentity.parse(found[0])
            if owner is not None and not owner.is_alive():
                yield Path(folder) / name
        folders[:] = [name for name in folders if not name.startswith(".") or not _NAMED.search(name)]


@lru_cache(maxsize=4)
def _of_process(pid: int) -> ProcessIdentity:
    """Looked up once, but again in a process that was forked from this one."""
    return ProcessIdentity(machine=_machine(), boot=_boot(), namespace=_namespace(), pid=pid, started=_started("self"))


def _machine() -> str:
    try:
        name = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        name = ""
    return _short(name or socket.gethostname())


def _boot() -> str:
    try:
        return _short((_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii"))
    except OSError:
        return "0"


def _namespace() -> str:
    try:
        return _short(str((_PROC / "self/ns/pid").readlink()))
    except OSError:
        return "0"


def _started(pid: str) -> str:
    """The clock ticks between the boot and the process's start; "0" if there is no /proc."""
    try:
        text = (_PROC / pid / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "0"
    return text.rpartition(")")[2].split()[19]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _short(text: str) -> str:
    return hashlib.sha256(text.strip().encode()).hexdigest()[:6]


# What a program that this process starts inherits of its environment: by name, so never a key of a model or a tool.

_EVERY_PROGRAM = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE")

GIT = ("XDG_CONFIG_HOME", "GIT_")
FETCHING = ("SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "http_proxy", "https_proxy", "no_proxy", "all_proxy")
"""How the network is reached from here; proxies are written in small letters or in capitals."""
PIP = (*FETCHING, "XDG_", "PIP_", "PYTHON")
APT = (*FETCHING, "APT_", "DEB")


@contextmanager
def ended_after(process: "subprocess.Popen[bytes]", within_s: float) -> Iterator["subprocess.Popen[bytes]"]:
    """Guarantees that the process, the leader of a group, and its group have ended when the block is left: it is asked
    to end, and killed if it has not after `within_s`.
    """
    try:
        yield process
    finally:
        try:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=within_s)
        finally:
            with suppress(ProcessLookupError):  # no process of the group remains
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def subprocess_environment(*beginnings: str) -> dict[str, str]:
    """What every program needs, and each variable whose name begins with one of `beginnings`, in any case."""
    wanted = tuple(beginning.upper() for beginning in beginnings)
    return {
        name: value for name, value in os.environ.items() if name in _EVERY_PROGRAM or name.upper().startswith(wanted)
    }
