"""A snapshot's content: gathered from a declared state, read back, and verified."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.disk import is_file
from harness.errors import InvalidDocument, SnapshotError
from harness.sandbox.environment import DeclaredState, Environment
from harness.sandbox.snapshot import Snapshot, SnapshotEntry
from harness.suite.documents import read_document, read_plain
from harness.values import Frozen, JsonObject


@dataclass(frozen=True, kw_only=True)
class CapturedEntry:
    """One entry with the current path of its content; None if it has none."""

    entry: SnapshotEntry
    content: Path | None


def gather(environment: Environment, state: DeclaredState) -> tuple[CapturedEntry, ...]:
    """The entries of a state, sorted by path.

    Raises SnapshotError for what cannot be captured: special files, names that are not UTF-8, and all paths outside the
    writable places.
    """
    return tuple(sorted(_entries_below(environment, state), key=lambda captured: captured.entry.path))


def browser_profile(environment: Environment, state: DeclaredState) -> JsonObject | None:
    """The cookies and local storage that browsers begin with."""
    if state.browser.files is None:
        return None
    path = environment.folder / state.browser.files
    if not is_file(path):
        raise SnapshotError(f"there is no file {path}", remedy=f"correct `browser.files` in {environment.folder}")
    profile = read_plain(path)[0]
    if not isinstance(profile, dict) or not {*profile} <= {"cookies", "origins"}:
        raise InvalidDocument(path, "expected a browser profile: an object with `cookies` and `origins`")
    return profile


def place_of(path: str, writable: tuple[str, ...]) -> str | None:
    """The writable place that contains `path`; None if none does, or if `path` is such a place."""
    parents = {str(parent) for parent in PurePosixPath(path).parents}
    return next((place for place in writable if place in parents), None)


def digest_of_file(path: Path) -> str:
    """Sha-256 of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_of(folder: Path, entry: SnapshotEntry) -> Path:
    """The path of a snapshot file's content in its snapshot's folder."""
    return folder / "files" / entry.path.lstrip("/")


def _entries_below(environment: Environment, state: DeclaredState) -> Iterator[CapturedEntry]:
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
            yield _checked_entry(_entry(inside, path), path, state)
        elif not any(f"{place}/".startswith(f"{inside}/") for place in state.writable):
            yield _checked_entry(SnapshotEntry(path=inside, kind="directory", mode=0o755), None, state)


def _walk(root: Path) -> Iterator[Path]:
    for path in sorted(root.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)


def _entry(inside: str, path: Path) -> SnapshotEntry:
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        target = os.readlink(path)  # noqa: PTH115 - Path.readlink() would not keep the target as it is
        if not _is_utf8(target):
            raise SnapshotError(f"the link {path} cannot be captured: its target is not UTF-8")
        return SnapshotEntry(path=inside, kind="link", mode=0o777, link=target)
    if not stat.S_ISREG(found.st_mode):
        raise SnapshotError(
            f"{path} cannot be captured: it is neither a file, a folder nor a link", remedy="remove it from the state"
        )
    return SnapshotEntry(
        path=inside,
        kind="file",
        mode=0o755 if found.st_mode & 0o100 else 0o644,
        size=found.st_size,
        sha256=digest_of_file(path),
    )


def _checked_entry(entry: SnapshotEntry, content: Path | None, state: DeclaredState) -> CapturedEntry:
    if place_of(entry.path, state.writable) is None:
        raise SnapshotError(
            f"{entry.path} cannot be captured: it is in none of the writable places ({', '.join(state.writable)})",
            remedy="move it into one, add its folder to `writable`, or put it into the image",
        )
    return CapturedEntry(entry=entry, content=content if entry.kind == "file" else None)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


# Reads a snapshot and verifies it completely: no file is missing, added or changed.
#
# Modes and empty folders are taken from the snapshot, not from the disk: a checkout keeps neither.

SNAPSHOT_FILE = "snapshot.json"


class SnapshotFile(Frozen):
    """The content of `snapshot.json`."""

    digest: str
    snapshot: Snapshot


def read_snapshot_file(folder: Path) -> Snapshot:
    """The snapshot in `folder`; its own digest is verified, its content is not.

    Raises SnapshotError that names the file.
    """
    path = folder / SNAPSHOT_FILE
    if not path.is_file():
        raise _capture_error(path, "is missing", folder)
    try:
        stored = read_document(path, SnapshotFile)
    except InvalidDocument as error:
        raise SnapshotError(error.message, remedy=_rebuild_remedy(folder)) from None
    snapshot = stored.snapshot.model_copy(update={"folder": folder, "image": None})
    if (snapshot.environment, snapshot.name) != (folder.parent.name, folder.name):
        raise _capture_error(
            path, f"holds the snapshot {snapshot.environment}/{snapshot.name}, which belongs to another folder", folder
        )
    if snapshot.digest != stored.digest:
        raise _capture_error(path, "was changed: its content does not match the digest in it", folder)
    return snapshot


def verify_content(snapshot: Snapshot) -> None:
    """Compares all files in the snapshot's folder with the snapshot.

    Raises SnapshotError that names the first file that is missing, changed, or not part of the snapshot.
    """
    folder = snapshot.folder
    if folder is None:
        return
    for problem in _contradictions(snapshot):
        raise _capture_error(folder / SNAPSHOT_FILE, problem, folder)
    expected: set[Path] = {folder / SNAPSHOT_FILE}
    for entry in snapshot.files:
        if entry.kind == "file":
            path = content_of(folder, entry)
            _verify_file(path, entry.sha256, entry.size, folder)
            expected.add(path)
    for dump in snapshot.dumps:
        _verify_file(folder / "dumps" / dump.file, dump.sha256, None, folder)
        expected.add(folder / "dumps" / dump.file)
    for path in _all_below(folder):
        if path not in expected:
            raise _capture_error(path, "is not part of the snapshot", folder)


def _verify_file(path: Path, sha256: str | None, size: int | None, folder: Path) -> None:
    try:
        is_plain = not path.is_symlink() and path.is_file()
    except OSError as error:  # the manifest names a path that no file system accepts
        raise _capture_error(
            path.parent / (path.name[:100] + "..."), f"cannot be read: {error.strerror}", folder
        ) from None
    if not is_plain:
        raise _capture_error(path, "is missing, or is not a regular file", folder)
    found = path.stat().st_size
    if size is not None and found != size:
        raise _capture_error(path, f"was changed: expected {size} bytes, found {found}", folder)
    if digest_of_file(path) != sha256:
        raise _capture_error(path, "was changed: its content does not match its digest", folder)


def _all_below(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        yield from (Path(at) / name for name in files)
        yield from (Path(at) / name for name in folders if (Path(at) / name).is_symlink())


def _contradictions(snapshot: Snapshot) -> Iterator[str]:
    """Entries that no build of the harness writes, and that could make a restore leave its places."""
    kinds: dict[str, str] = {}
    for entry in snapshot.files:
        if entry.path in kinds:
            yield f"names {entry.path} twice"
        kinds[entry.path] = entry.kind
        yield from _unusable_properties(entry, snapshot.writable)
    for path in kinds:
        for parent in PurePosixPath(path).parents:
            if kinds.get(str(parent), "directory") != "directory":
                yield f"puts {path} below {parent}, which is not a folder"
    yield from _odd_dumps(snapshot)


def _odd_dumps(snapshot: Snapshot) -> Iterator[str]:
    for dump in snapshot.dumps:
        if PurePosixPath(dump.file).name != dump.file or dump.file in {"", ".", ".."}:
            yield f"names a dump {dump.file!r}"
    if len({dump.service for dump in snapshot.dumps}) != len(snapshot.dumps):
        yield "holds two dumps of one service"


def _unusable_properties(entry: SnapshotEntry, writable: tuple[str, ...]) -> Iterator[str]:
    if str(PurePosixPath(entry.path)) != entry.path or ".." in entry.path.split("/") or "\0" in entry.path:
        yield f"holds the path {entry.path!r}"
    elif place_of(entry.path, writable) is None:
        yield f"holds {entry.path}, outside the writable places"
    if (entry.sha256 is not None) != (entry.kind == "file") or (entry.link is not None) != (entry.kind == "link"):
        yield f"describes {entry.path} as a {entry.kind} without what belongs to one"
    if not 0 <= entry.mode <= 0o777:
        yield f"gives {entry.path} the mode {entry.mode:o}"


def _capture_error(path: Path, problem: str, folder: Path) -> SnapshotError:
    return SnapshotError(f"{path} {problem}", remedy=_rebuild_remedy(folder))


def _rebuild_remedy(folder: Path) -> str:
    return (
        f"restore it from version control, or build it again: harness snapshot build {folder.parent.name} {folder.name}"
    )
