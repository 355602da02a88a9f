"""Folders and files that are on the disk, and not only on their way to it, when a function returns."""

import os
from pathlib import Path


def is_folder(path: Path) -> bool:
    """Whether the folder exists. A path from a user may exceed the maximum length of a name, for which `Path.is_dir`
    raises OSError.
    """
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises for a long name


def is_file(path: Path) -> bool:
    """The same for a plain file."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises for a long name


def make_folder(folder: Path) -> None:
    """Makes the folder and those above it; only what is new costs anything."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        flush_folder(folder.parent)


def flush_folder(folder: Path) -> None:
    """Flushes the folder's own changes to the disk: created, renamed and removed entries."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(root: Path) -> None:
    """All files and folders below `root`, and it itself."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            if not path.is_symlink():
                with path.open("rb") as stream:
                    os.fsync(stream.fileno())
        flush_folder(Path(folder))
