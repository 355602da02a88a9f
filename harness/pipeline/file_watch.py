"""Polls files and reports changes (`harness run --watch`)."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

POLL_S: Final = 0.5
_HASHED_BYTES: Final = 1 << 20
"""Larger files are told apart by time and size alone."""

_Stamp = tuple[int, int, int]

Contents = Mapping[Path, str]
"""File -> a fingerprint of its content."""


class FileWatch:
    """The files in some folders, without hidden ones and compiled code. A file that is only touched has not changed."""

    def __init__(self, roots: Sequence[Path], ignored: Callable[[Path], bool] = lambda _: False) -> None:
        """`roots` are folders or files; those that do not exist are watched for."""
        self.roots = tuple(dict.fromkeys(roots))
        self._ignored = ignored
        self._known: dict[Path, tuple[_Stamp, str]] = {}

    def contents(self) -> dict[Path, str]:
        """The current state of the files; unreadable and removed ones are skipped."""
        known: dict[Path, tuple[_Stamp, str]] = {}
        for path in self._paths():
            try:
                found = path.stat()
                stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
                before = self._known.get(path)
                content = before[1] if before is not None and before[0] == stamp else _content(path, stamp)
            except OSError:
                continue
            known[path] = (stamp, content)
        self._known = known
        return {path: content for path, (_, content) in known.items()}

    def changed_from(self, before: Contents, pause: Callable[[float], None] = time.sleep) -> dict[Path, str]:
        """Waits until the files hold something else than `before` and have come to rest, and gives what they hold then.

        Editors and `git checkout` write several files one after another: two looks in a row have to agree.
        """
        while True:
            pause(POLL_S)
            now = self.contents()
            if now == before:
                continue
            while True:
                pause(POLL_S)
                later = self.contents()
                if later == now:
                    return now
                now = later
                if now == before:
                    break

    def _paths(self) -> Iterator[Path]:
        for root in self.roots:
            if root.is_file():
                yield root
            for folder, folders, names in os.walk(root):
                folders[:] = sorted(name for name in folders if not _is_hidden(name))
                for name in sorted(names):
                    path = Path(folder) / name
                    if not _is_hidden(name) and path.is_file() and not self._ignored(path):
                        yield path


def different(before: Contents, after: Contents) -> list[Path]:
    """The files that were added, removed or changed, by name."""
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == "__pycache__" or name.endswith((".pyc", "~"))


def _content(path: Path, stamp: _Stamp) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if stamp[1] <= _HASHED_BYTES else repr(stamp)
