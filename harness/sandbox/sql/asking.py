"""A database asked, wherever it is: in a service's container, or among the files of a sandbox."""

import io
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.errors import ServiceError, UsageError
from harness.frozen import JsonValue
from harness.sandbox.endstate import open_end_state
from harness.sandbox.environment import DatabasePlace
from harness.sandbox.sealing import content_of
from harness.sandbox.service import ServiceContainer
from harness.sandbox.snapshot import Snapshot
from harness.sandbox.sql.postgresql import query_command, read_rows, read_tables, tables_command
from harness.sandbox.sql.sqlite import rows_in, tables_in
from harness.sandbox.sql.tables import QueryFailed, Table

_PARTS = ("", "-wal", "-journal")
"""What a SQLite database is made of while a program has it open."""
_QUERY_FAILED = 3
"""The exit status of psql for a script that failed; others say that the server was not reached."""


def service_rows(container: ServiceContainer, query: str, timeout_s: float) -> list[JsonValue]:
    """Raises QueryFailed where the database refuses the query, ServiceError where it cannot be asked."""
    place = _place(container)
    if place.sqlite is None:
        return read_rows(_printed(container, query_command(place, query), timeout_s))
    with _copied(container, place.sqlite) as file:
        return rows_in(file, query)


def service_tables(container: ServiceContainer, wanted: Sequence[str], timeout_s: float) -> dict[str, Table]:
    """Raises likewise. A wanted table that is not there is left out."""
    place = _place(container)
    if place.sqlite is None:
        return read_tables(_printed(container, tables_command(place, tuple(wanted)), timeout_s))
    with _copied(container, place.sqlite) as file:
        return tables_in(file, tuple(wanted))


@contextmanager
def sealed_database(snapshot: Snapshot, path: str) -> Iterator[Path | None]:
    """A copy of the SQLite database that the sandbox began with; None: there was none."""
    parts = {entry.path: entry for entry in snapshot.files if entry.kind == "file"}
    sealed = {part: parts.get(path + part) for part in _PARTS}
    with _written(
        {
            part: content_of(snapshot.folder, entry).read_bytes()
            for part, entry in sealed.items()
            if entry is not None and snapshot.folder is not None
        }
    ) as file:
        yield file


@contextmanager
def left_database(snapshot: Snapshot, archive: Path, path: str) -> Iterator[Path | None]:
    """A copy of the SQLite database that the agent left; None: there is none, or it was too large to be kept."""
    parts: dict[str, bytes] = {}
    with sealed_database(snapshot, path) as before, open_end_state(archive) as end:
        changed = {change.path: change.change for change in end.state.changes}
        for part in _PARTS:
            if path + part not in changed:
                kept = None if before is None else Path(f"{before}{part}")
                content = kept.read_bytes() if kept is not None and kept.exists() else None
            else:
                content = end.content(path + part)
            if content is not None:
                parts[part] = content
    with _written(parts) as file:
        yield file


def _place(container: ServiceContainer) -> DatabasePlace:
    if container.service.database is None:
        raise UsageError(
            f"service {container.name!r} does not say how its database is asked",
            remedy="declare `database: {postgresql: NAME}` or `{sqlite: /path}` in its environment.yaml",
        )
    return container.service.database


def _printed(container: ServiceContainer, command: Sequence[str], timeout_s: float) -> bytes:
    code, output, errors = container.ran(command, timeout_s, "a question to the database")
    if code == _QUERY_FAILED:
        raise QueryFailed(errors)
    if code != 0:
        raise ServiceError(
            f"the database of service {container.name!r} cannot be asked: psql gave exit status {code}\n{errors}",
            remedy="correct `database` in its environment.yaml",
            logs={container.name: container.tail()},
        )
    return output


@contextmanager
def _copied(container: ServiceContainer, path: str) -> Iterator[Path]:
    parts: dict[str, bytes] = {}
    for part in _PARTS:
        archive = container.copy_of(path + part)
        if archive is not None:
            parts[part] = _content(archive)
    with _written(parts) as file:
        if file is None:
            raise ServiceError(f"service {container.name!r} has no file {path}", remedy="correct `database.sqlite`")
        yield file


def _content(archive: bytes) -> bytes:
    """Of the one file in a tar."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        stream = next((tar.extractfile(member) for member in tar if member.isfile()), None)
        return b"" if stream is None else stream.read()


@contextmanager
def _written(parts: dict[str, bytes]) -> Iterator[Path | None]:
    with tempfile.TemporaryDirectory(prefix="harness-sqlite-") as folder:
        file = Path(folder) / "database"
        for part, content in parts.items():
            Path(f"{file}{part}").write_bytes(content)
        yield file if "" in parts else None
