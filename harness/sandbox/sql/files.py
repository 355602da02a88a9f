"""SQLite databases among the files of a sandbox: as they were sealed, and as the agent left them; always copies."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from harness.sandbox.endstate import open_end_state
from harness.sandbox.owner import temporary_folder
from harness.sandbox.sealing import content_of
from harness.sandbox.snapshot import Snapshot

PARTS = ("", "-wal", "-journal")
"""What a SQLite database is made of while a program has it open."""


class NotKept(Exception):
    """The file changed, and was too large for its content to be read back."""


@contextmanager
def sealed_database(snapshot: Snapshot, path: str) -> Iterator[Path | None]:
    """The database that the sandbox began with; None: there was none."""
    with written(_sealed(snapshot, path)) as file:
        yield file


@contextmanager
def left_database(snapshot: Snapshot, archive: Path, path: str) -> Iterator[Path | None]:
    """The database that the agent left; None: there is none. Raises NotKept."""
    parts = _sealed(snapshot, path)
    with open_end_state(archive) as end:
        changes = {change.path: change.change for change in end.state.changes}
        for part in PARTS:
            change = changes.get(path + part)
            content = end.content(path + part) if change in ("added", "modified") else None
            if change == "deleted":
                parts.pop(part, None)
            elif content is not None:
                parts[part] = content
            elif change is not None:
                raise NotKept
    with written(parts) as file:
        yield file


@contextmanager
def written(parts: Mapping[str, bytes]) -> Iterator[Path | None]:
    """The database made of these parts, for as long as the context is entered; None: the main file is missing."""
    with temporary_folder() as folder:
        file = folder / "database"
        for part, content in parts.items():
            Path(f"{file}{part}").write_bytes(content)
        yield file if "" in parts else None


def _sealed(snapshot: Snapshot, path: str) -> dict[str, bytes]:
    if snapshot.folder is None:
        return {}
    entries = {entry.path: entry for entry in snapshot.files if entry.kind == "file"}
    found = {part: entries[path + part] for part in PARTS if path + part in entries}
    return {part: content_of(snapshot.folder, entry).read_bytes() for part, entry in found.items()}
