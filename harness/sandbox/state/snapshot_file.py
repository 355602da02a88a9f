"""Reads a snapshot and verifies it completely: no file is missing, added or changed.

Modes and empty folders are taken from the snapshot, not from the disk: a checkout keeps neither.
"""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from harness.documents import read_document
from harness.errors import InvalidDocument, SnapshotError
from harness.sandbox.state.capture import content_of, digest_of_file, place_of
from harness.sandbox.state.snapshot import Snapshot, SnapshotEntry
from harness.values import Frozen

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
        raise _refused(path, "is missing", folder)
    try:
        stored = read_document(path, SnapshotFile)
    except InvalidDocument as error:
        raise SnapshotError(error.message, remedy=_again(folder)) from None
    snapshot = stored.snapshot.model_copy(update={"folder": folder, "image": None})
    if (snapshot.environment, snapshot.name) != (folder.parent.name, folder.name):
        raise _refused(
            path, f"holds the snapshot {snapshot.environment}/{snapshot.name}, which belongs to another folder", folder
        )
    if snapshot.digest != stored.digest:
        raise _refused(path, "was changed: its content does not match the digest in it", folder)
    return snapshot


def verify_content(snapshot: Snapshot) -> None:
    """Compares all files in the snapshot's folder with the snapshot.

    Raises SnapshotError that names the first file that is missing, changed, or not part of the snapshot.
    """
    folder = snapshot.folder
    if folder is None:
        return
    for problem in _contradictions(snapshot):
        raise _refused(folder / SNAPSHOT_FILE, problem, folder)
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
            raise _refused(path, "is not part of the snapshot", folder)


def _verify_file(path: Path, sha256: str | None, size: int | None, folder: Path) -> None:
    try:
        is_plain = not path.is_symlink() and path.is_file()
    except OSError as error:  # the manifest names a path that no file system accepts
        raise _refused(path.parent / (path.name[:100] + "..."), f"cannot be read: {error.strerror}", folder) from None
    if not is_plain:
        raise _refused(path, "is missing, or is not a regular file", folder)
    found = path.stat().st_size
    if size is not None and found != size:
        raise _refused(path, f"was changed: expected {size} bytes, found {found}", folder)
    if digest_of_file(path) != sha256:
        raise _refused(path, "was changed: its content does not match its digest", folder)


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
        yield from _odd(entry, snapshot.writable)
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


def _odd(entry: SnapshotEntry, writable: tuple[str, ...]) -> Iterator[str]:
    if str(PurePosixPath(entry.path)) != entry.path or ".." in entry.path.split("/") or "\0" in entry.path:
        yield f"holds the path {entry.path!r}"
    elif place_of(entry.path, writable) is None:
        yield f"holds {entry.path}, outside the writable places"
    if (entry.sha256 is not None) != (entry.kind == "file") or (entry.link is not None) != (entry.kind == "link"):
        yield f"describes {entry.path} as a {entry.kind} without what belongs to one"
    if not 0 <= entry.mode <= 0o777:
        yield f"gives {entry.path} the mode {entry.mode:o}"


def _refused(path: Path, problem: str, folder: Path) -> SnapshotError:
    return SnapshotError(f"{path} {problem}", remedy=_again(folder))


def _again(folder: Path) -> str:
    return (
        f"restore it from version control, or build it again: harness snapshot build {folder.parent.name} {folder.name}"
    )
