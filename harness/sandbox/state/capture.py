"""A declared state gathered into snapshot entries: what may be captured, with which mode and owner."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Literal

from harness.disk import is_file
from harness.documents import read_plain
from harness.errors import InvalidDocument, SnapshotError
from harness.sandbox.environment import DeclaredState, Environment
from harness.sandbox.state.snapshot import Snapshot, SnapshotEntry
from harness.values import JsonObject


@dataclass(frozen=True, kw_only=True)
class CapturedEntry:
    """One entry with the current path of its content; None where it has none."""

    entry: SnapshotEntry
    content: Path | None


def gather(environment: Environment, state: DeclaredState, parent: Snapshot | None) -> tuple[CapturedEntry, ...]:
    """The entries of a state, sorted by path: its parent's, overridden by its own.

    Raises SnapshotError for what cannot be captured: special files, names that are not UTF-8, and all paths outside the
    writable places.
    """
    found: dict[str, CapturedEntry] = {}
    for captured in (*_inherited(parent), *_own(environment, state)):
        if captured.entry.kind != "directory":
            for below in [path for path in found if path.startswith(captured.entry.path + "/")]:
                del found[below]
        found[captured.entry.path] = captured
    return tuple(found[path] for path in sorted(found))


def browser_profile(environment: Environment, state: DeclaredState, parent: Snapshot | None) -> JsonObject | None:
    """The cookies and local storage that browsers begin with: the state's, else its parent's."""
    if state.browser_profile is None:
        return None if parent is None else parent.browser_profile
    path = environment.folder / state.browser_profile
    if not is_file(path):
        raise SnapshotError(f"there is no file {path}", remedy=f"correct `browser_profile` in {environment.folder}")
    profile = read_plain(path)[0]
    if not isinstance(profile, dict) or not {*profile} <= {"cookies", "origins"}:
        raise InvalidDocument(path, "expected a browser profile: an object with `cookies` and `origins`")
    return profile


def place_of(path: str, writable: tuple[str, ...]) -> str | None:
    """The writable place that contains `path`; None where none does, or where `path` is such a place."""
    parents = {str(parent) for parent in PurePosixPath(path).parents}
    return next((place for place in writable if place in parents), None)


def digest_of_file(path: Path) -> str:
    """Sha-256 of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_of(folder: Path, entry: SnapshotEntry) -> Path:
    """The path of a snapshot file's content in its snapshot's folder."""
    return folder / "files" / entry.path.lstrip("/")


def _inherited(parent: Snapshot | None) -> Iterator[CapturedEntry]:
    for entry in parent.files if parent is not None else ():
        at = content_of(parent.folder, entry) if parent is not None and parent.folder is not None else None
        yield CapturedEntry(entry=entry, content=at if entry.kind == "file" else None)


def _own(environment: Environment, state: DeclaredState) -> Iterator[CapturedEntry]:
    for folder in state.folders:
        yield from _with_parents(state, folder)
    if state.files is None:
        return
    root = environment.folder / state.files
    if not root.is_dir() or root.is_symlink():
        raise SnapshotError(f"there is no folder {root}", remedy=f"correct `files` in {environment.folder}")
    for path in _walk(root):
        inside = "/" + str(path.relative_to(root))
        if not _is_utf8(inside):
            raise SnapshotError(f"{os.fsencode(path)!r} cannot be captured: its name is not UTF-8", remedy="rename it")
        if not path.is_dir() or path.is_symlink():
            yield _checked(_entry(state, inside, path), path, state)
        elif not _leads_to_a_place(inside, state.writable):
            yield _folder(state, inside)


def _with_parents(state: DeclaredState, folder: str) -> Iterator[CapturedEntry]:
    for above in reversed(PurePosixPath(folder).parents):
        if place_of(str(above), state.writable) is not None:
            yield _folder(state, str(above))
    yield _folder(state, folder)


def _walk(root: Path) -> Iterator[Path]:
    for path in sorted(root.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)


def _folder(state: DeclaredState, inside: str) -> CapturedEntry:
    entry = SnapshotEntry(path=inside, kind="directory", mode=_mode(state, inside, 0o755), owner=_owner(state, inside))
    return _checked(entry, None, state)


def _entry(state: DeclaredState, inside: str, path: Path) -> SnapshotEntry:
    found = path.lstat()
    owner = _owner(state, inside)
    if stat.S_ISLNK(found.st_mode):
        target = os.readlink(path)  # noqa: PTH115 - Path.readlink() would not keep the target as it is
        if not _is_utf8(target):
            raise SnapshotError(f"the link {path} cannot be captured: its target is not UTF-8")
        return SnapshotEntry(path=inside, kind="link", mode=0o777, owner=owner, link=target)
    if not stat.S_ISREG(found.st_mode):
        raise SnapshotError(
            f"{path} cannot be captured: it is neither a file, a folder nor a link", remedy="remove it from the state"
        )
    usual = 0o755 if found.st_mode & 0o100 else 0o644
    return SnapshotEntry(
        path=inside,
        kind="file",
        mode=_mode(state, inside, usual),
        owner=owner,
        size=found.st_size,
        sha256=digest_of_file(path),
    )


def _checked(entry: SnapshotEntry, content: Path | None, state: DeclaredState) -> CapturedEntry:
    if place_of(entry.path, state.writable) is None:
        raise SnapshotError(
            f"{entry.path} cannot be captured: it is in none of the writable places ({', '.join(state.writable)})",
            remedy="move it into one, add its folder to `writable`, or put it into the image",
        )
    return CapturedEntry(entry=entry, content=content if entry.kind == "file" else None)


def _leads_to_a_place(inside: str, writable: tuple[str, ...]) -> bool:
    return any(place == inside or place.startswith(inside + "/") for place in writable)


def _mode(state: DeclaredState, inside: str, usual: int) -> int:
    given = [mode for glob, mode in state.modes.items() if fnmatchcase(inside, glob)]
    return int(given[-1], 8) if given else usual


def _owner(state: DeclaredState, inside: str) -> Literal["agent", "root"]:
    return "root" if any(fnmatchcase(inside, glob) for glob in state.root_owned) else "agent"


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
