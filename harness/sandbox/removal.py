"""Removes the files of an agent, whatever their modes and depth: folders that no path can name, and folders without
permissions.

Every folder with content is first moved to the top, so that neither path lengths nor recursion grow with the depth.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(folder: Path) -> None:
    """Removes a folder and follows no link. Entries that cannot be removed stay; another process may be removing them
    too.
    """
    with suppress(OSError):
        with _opened(os.fspath(folder)) as top:
            _empty(top)
        folder.rmdir()


def _empty(top: int) -> None:
    waiting = list(_emptied(top, top, 0))
    moved = len(waiting)
    while waiting:
        name = waiting.pop()
        with suppress(FileNotFoundError):
            with _opened(name, top) as inner:
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
def _opened(name: str, within: int | None = None) -> Iterator[int]:
    fd = os.open(name, _FOLDER, dir_fd=within)
    try:
        yield fd
    finally:
        os.close(fd)
