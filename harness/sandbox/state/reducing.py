"""A snapshot with a part of its content: without some of its files, and without some rows of its services' dumps."""

import hashlib
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.documents import write_atomically
from harness.sandbox.state.capture import content_of
from harness.sandbox.state.seed_rows import row_count, without_rows
from harness.sandbox.state.snapshot import ServiceDump, Snapshot


@dataclass(frozen=True, kw_only=True)
class OmittedParts:
    """The parts that a reduced snapshot lacks."""

    files: Collection[str] = ()
    """Paths of files and links in the sandbox."""
    rows: Mapping[str, Collection[int]] = field(default_factory=dict)
    """Service -> numbers of rows in its dump, counted from 0."""


def files_of(snapshot: Snapshot) -> tuple[str, ...]:
    """The files and links that can be left out; folders stay."""
    return tuple(entry.path for entry in snapshot.files if entry.kind != "directory")


def rows_of(snapshot: Snapshot) -> dict[str, int]:
    """Service -> the number of rows in its dump."""
    return {dump.service: row_count(_content(snapshot, dump), dump.file) for dump in snapshot.dumps}


def reduced_snapshot(snapshot: Snapshot, left_out: OmittedParts, name: str, folder: Path) -> Snapshot:
    """Writes the remaining content into a new `folder`, and returns the snapshot of it."""
    folder.mkdir(parents=True)
    entries = tuple(entry for entry in snapshot.files if entry.path not in left_out.files)
    for entry in entries:
        if entry.kind == "file":
            assert snapshot.folder is not None  # it has files
            target = content_of(folder, entry)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(content_of(snapshot.folder, entry), target)
    dumps: list[ServiceDump] = []
    for dump in snapshot.dumps:
        content = without_rows(_content(snapshot, dump), dump.file, left_out.rows.get(dump.service, ()))
        (folder / "dumps").mkdir(exist_ok=True)
        write_atomically(folder / "dumps" / dump.file, content)
        dumps.append(dump.model_copy(update={"sha256": hashlib.sha256(content).hexdigest()}))
    return snapshot.model_copy(
        update={"name": name, "files": entries, "dumps": tuple(dumps), "parent": snapshot.digest, "folder": folder}
    )


def _content(snapshot: Snapshot, dump: ServiceDump) -> bytes:
    assert snapshot.folder is not None  # it has a dump
    return (snapshot.folder / "dumps" / dump.file).read_bytes()
