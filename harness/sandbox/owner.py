"""Who owns what a run leaves outside its process: containers, volumes, networks and private folders.

An owner is named so that a dead one can be told from a living one, even after its process id was given to somebody
else: machine, boot, process-id namespace, process id and the process's start time. An owner on another machine or in
another namespace cannot be judged from here and counts as alive.
"""

import hashlib
import os
import socket
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.errors import SandboxError
from harness.sandbox.removal import remove_folder

OWNER_LABEL = "harness.owner"
RUN_LABEL = "harness.run"

SOCKET_PATH_MAX = 107
"""What Linux takes as the path of a Unix socket, in bytes."""

_PROC = Path("/proc")


@dataclass(frozen=True, kw_only=True)
class Owner:
    """One process, named for good."""

    machine: str
    boot: str
    namespace: str
    pid: int
    started: str

    def __str__(self) -> str:
        return f"{self.machine}.{self.boot}.{self.namespace}.{self.pid}.{self.started}"

    @classmethod
    def current(cls) -> "Owner":
        return cls(machine=_machine(), boot=_boot(), namespace=_namespace(), pid=os.getpid(), started=_started("self"))

    @classmethod
    def parse(cls, text: str) -> "Owner | None":
        """None: not written by us."""
        parts = text.split(".")
        if len(parts) != 5 or not parts[3].isdecimal():
            return None
        return cls(machine=parts[0], boot=parts[1], namespace=parts[2], pid=int(parts[3]), started=parts[4])

    def is_alive(self) -> bool:
        """True also where it cannot be told."""
        if self.machine != _machine():
            return True
        if self.boot != _boot():
            return False
        if self.namespace != _namespace():
            return True
        return _is_running(self.pid) and _started(str(self.pid)) == self.started


def owner_labels(run: str | None = None) -> dict[str, str]:
    """The labels of everything that this process creates in the container engine."""
    labels = {OWNER_LABEL: str(Owner.current())}
    return labels if run is None else {**labels, RUN_LABEL: run}


def private_folder() -> Path:
    """A new folder of this process that no other user can reach, with room for a Unix socket's path (`/x.sock`).

    Its parent is closed to other users; the folder itself is open (0755), so that it can be mounted into a sandbox.
    """
    mine = _folder_of_all() / str(Owner.current())
    mine.mkdir(mode=0o700, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="", dir=mine))
    folder.chmod(0o755)
    return folder


def remove_private_folder(folder: Path) -> None:
    """Removes the folder whatever the modes in it, and the owner's folder with the last one."""
    remove_folder(folder)
    try:
        folder.parent.rmdir()
    except OSError:
        return  # another one of this process is still there


def reap_private_folders() -> list[str]:
    """Removes the private folders of dead owners."""
    removed = []
    for folder in sorted(_folder_of_all().iterdir()):
        owner = Owner.parse(folder.name)
        if owner is not None and not owner.is_alive():
            remove_folder(folder)
            removed.append(f"folder {folder}")
    return removed


def _folder_of_all() -> Path:
    """`<temporary>/harness-<uid>`; a long TMPDIR leaves no room for a socket's path, then it is /tmp."""
    name = f"harness-{os.getuid()}"
    base = Path(tempfile.gettempdir())
    owner_length = len(str(Owner.current()))
    if len(os.fsencode(base / name)) + owner_length + 24 > SOCKET_PATH_MAX:
        base = Path("/tmp")
    folder = base / name
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise SandboxError(f"{folder} is not a folder of ours", remedy="remove it, or set TMPDIR to another folder")
    folder.chmod(0o700)
    return folder


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
    """Ticks between the boot and the process's start; "0" where there is no /proc."""
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
