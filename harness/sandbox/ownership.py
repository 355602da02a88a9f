"""What a run leaves outside its process and outside its project: the labels of containers, private folders, programs.

Every resource contains its owner's name, so that leftovers of dead owners can be removed and live ones kept.
"""

import os
import select
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from harness.errors import SandboxError
from harness.processes import OWNER_VARIABLE, ProcessIdentity

# Every folder with content is first moved to the top, so that neither path lengths nor recursion grow with the depth.

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(folder: Path) -> None:
    """Removes a folder and follows no link. Entries that cannot be removed stay; another process may be removing them
    too.
    """
    with suppress(OSError):
        with _open_folder(os.fspath(folder)) as top:
            _delete_content(top)
        folder.rmdir()


def _delete_content(top: int) -> None:
    waiting = list(_emptied(top, top, 0))
    moved = len(waiting)
    while waiting:
        name = waiting.pop()
        with suppress(FileNotFoundError):
            with _open_folder(name, top) as inner:
                found = list(_emptied(inner, top, moved))
            moved += len(found)
            waiting += found
            os.rmdir(name, dir_fd=top)


def _emptied(folder: int, top: int, moved: int) -> Iterator[str]:
    """Removes the files; returns the names that the inner folders have at the top now."""
    for entry in list(os.scandir(folder)):
        with suppress(FileNotFoundError):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=folder)
                continue
            os.chmod(entry.name, 0o700, dir_fd=folder)
            moved += 1
            name = f".harness-removed-{os.getpid()}-{moved}"
            os.rename(entry.name, name, src_dir_fd=folder, dst_dir_fd=top)
            yield name


@contextmanager
def _open_folder(name: str, within: int | None = None) -> Iterator[int]:
    fd = os.open(name, _FOLDER, dir_fd=within)
    try:
        yield fd
    finally:
        os.close(fd)


OWNER_LABEL = "harness.owner"
RUN_LABEL = "harness.run"

SOCKET_PATH_MAX = 107
"""The maximum length of a Unix socket's path on Linux, in bytes."""

_LONGEST = len("/abcdefgh/gateway.sock")
"""Guards the creation of an owner's folder."""

_FALLBACK = Path("/tmp")
_ENDS_WITHIN_S = 5.0


def owner_labels(run: str | None = None) -> dict[str, str]:
    """The labels of everything that this process creates in the container engine."""
    labels = {OWNER_LABEL: str(ProcessIdentity.current())}
    return labels if run is None else {**labels, RUN_LABEL: run}


def private_folder() -> Path:
    """A new folder of this process that no other user can reach, with room for a Unix socket's path (`/x.sock`).

    Its parent is closed to other users; the folder itself is open (0755), so that it can be mounted into a sandbox.
    """
    mine = _folder_of(str(ProcessIdentity.current()), tempfile.gettempdir())
    if mine not in _seen_to_be_ours:  # a folder created by another user could not be trusted later
        _make(mine)
        _seen_to_be_ours.add(mine)
    while True:
        folder = mine / os.urandom(4).hex()
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except FileNotFoundError:  # it was removed with its last folder, possibly by another thread
            _make(mine)
            continue
        folder.chmod(0o755)  # whatever the umask
        return folder


def remove_private_folder(folder: Path) -> None:
    """Removes the folder, whatever the modes of its entries, and the owner's folder with the last one.

    What cannot be removed is left to `private_folders_left` of a later process.
    """
    remove_folder(folder)
    with suppress(OSError):  # another folder of this process still exists
        folder.parent.rmdir()


_seen_to_be_ours: set[Path] = set()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A private folder that exists while the context is entered; leftovers of a killed process are reaped."""
    folder = private_folder()
    try:
        yield folder
    finally:
        remove_private_folder(folder)


def owned_environment() -> dict[str, str]:
    """The environment for a program that this process starts; it identifies a program that outlives its owner."""
    return {OWNER_VARIABLE: str(ProcessIdentity.current())}


@dataclass(frozen=True)
class OrphanProgram:
    """A program that runs although its owner is dead."""

    pid: int
    name: str


def programs_left() -> list[OrphanProgram]:
    """Programs that dead owners started, and their descendants."""
    left = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended, or belongs to another user
            if _is_left((entry / "environ").read_bytes()):
                left.append(OrphanProgram(int(entry.name), (entry / "comm").read_text(errors="replace").strip()))
    return left


def end_program(program: OrphanProgram) -> bool:
    """Ends the program; returns whether this call ended it."""
    try:
        handle = os.pidfd_open(program.pid)  # the handle stays bound to this process if its id is reused
    except ProcessLookupError:
        return False
    try:
        if program not in programs_left():
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        return bool(select.select([handle], [], [], _ENDS_WITHIN_S)[0])
    finally:
        os.close(handle)


def private_folders_left() -> list[Path]:
    """The private folders of dead owners."""
    return [folder for folder in sorted(_folders_of_owners()) if _is_dead(folder.name)]


def remove_left_folder(folder: Path) -> bool:
    """Removes the folder and returns whether that succeeded: a sandbox `local` may still be ending its programs in it,
    which takes a moment.
    """
    deadline = time.monotonic() + _ENDS_WITHIN_S
    remove_folder(folder)
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
        remove_folder(folder)
    return not folder.exists()


def _is_left(environment: bytes) -> bool:
    mark = f"{OWNER_VARIABLE}=".encode()
    named = [part.removeprefix(mark) for part in environment.split(b"\0") if part.startswith(mark)]
    return bool(named) and _is_dead(named[0].decode(errors="replace"))


def _is_dead(name: str) -> bool:
    owner = ProcessIdentity.parse(name)
    return owner is not None and not owner.is_alive()


def _folders_of_owners() -> Iterator[Path]:
    """The owners' folders, including those of processes whose TMPDIR was too long or differs from this one's."""
    for base in {Path(tempfile.gettempdir()), _FALLBACK}:
        folder = base / f"harness-{os.getuid()}"
        if folder.is_dir() and not folder.is_symlink() and folder.stat().st_uid == os.getuid():
            yield from folder.iterdir()


@lru_cache(maxsize=4)
def _folder_of(owner: str, base: str) -> Path:
    """`<temporary>/harness-<uid>/<owner>`; a long TMPDIR leaves no room for a socket's path, then it is /tmp."""
    folder = Path(base) / f"harness-{os.getuid()}" / owner
    if len(os.fsencode(folder)) + _LONGEST > SOCKET_PATH_MAX:
        folder = _FALLBACK / f"harness-{os.getuid()}" / owner
    return folder


def _make(mine: Path) -> None:
    """Raises SandboxError if another user owns the folder of all owners."""
    folder = mine.parent
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise SandboxError(
            f"{folder} is not a folder of this user", remedy="remove it, or set TMPDIR to another folder"
        )
    folder.chmod(0o700)
    with suppress(FileExistsError, FileNotFoundError):  # another thread was first, or has just removed both
        mine.mkdir(mode=0o700)
