"""SQLite databases among the files of a sandbox: as the snapshot has them, and as the agent left them."""

from pathlib import Path

from harness.sandbox.inside.changes import LISTS_ALL_CHANGES
from harness.sandbox.sql.tables import Unmeasurable
from harness.sandbox.state.capture import content_of
from harness.sandbox.state.endstate import OpenEndState, open_end_state
from harness.sandbox.state.snapshot import Snapshot

PARTS = ("", "-wal", "-journal")
"""The suffixes of a SQLite database's files while a program has it open."""


def snapshot_parts(snapshot: Snapshot, path: str) -> dict[str, bytes]:
    """The files of the database in the snapshot; empty: the snapshot has none."""
    if snapshot.folder is None:
        return {}
    entries = {entry.path: entry for entry in snapshot.files if entry.kind == "file"}
    found = {part: entries[path + part] for part in PARTS if path + part in entries}
    return {part: content_of(snapshot.folder, entry).read_bytes() for part, entry in found.items()}


def left_parts(snapshot: Snapshot, archive: Path, path: str) -> dict[str, bytes]:
    """The files of the database that the agent left; without the key "" there is none.

    Raises Unmeasurable for a path that is not a regular file, that was too large to be read back, or that is unknown.
    """
    with open_end_state(archive) as end:
        changed = _changed(end, path)
    parts = {part: content for part, content in snapshot_parts(snapshot, path).items() if part not in changed}
    return {**parts, **{part: content for part, content in changed.items() if content is not None}}


def _changed(end: OpenEndState, path: str) -> dict[str, bytes | None]:
    """Part -> its content; None: it was deleted."""
    changes = {change.path: change for change in end.state.changes}
    found: dict[str, bytes | None] = {}
    for part in PARTS:
        change = changes.get(path + part)
        if change is None:
            if not end.state.complete and (end.state.problem or "").encode() not in LISTS_ALL_CHANGES:
                raise Unmeasurable(f"cannot tell whether {path + part} changed: {end.state.problem}")
        elif change.change == "deleted":
            found[part] = None
        elif change.kind != "file":
            raise Unmeasurable(f"{path + part} is not a regular file ({change.kind})")
        else:
            found[part] = end.content(path + part)
            if found[part] is None:
                raise Unmeasurable(f"{path + part} is larger than is read back")
    return found
