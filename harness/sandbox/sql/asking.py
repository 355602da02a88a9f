"""The database of a service asked: by `psql` in its container, or as a copy of its SQLite file."""

import io
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.errors import ServiceError, UsageError
from harness.frozen import JsonValue
from harness.sandbox.environment import DatabasePlace
from harness.sandbox.service import ServiceContainer
from harness.sandbox.sql.files import PARTS, written
from harness.sandbox.sql.postgresql import query_command, read_rows, read_tables, tables_command
from harness.sandbox.sql.sqlite import rows_in, tables_in
from harness.sandbox.sql.tables import QueryFailed, Table

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
    for part in PARTS:
        archive = container.copy_of(path + part)
        if archive is not None:
            parts[part] = _content(archive)
    with written(parts) as file:
        if file is None:
            raise ServiceError(f"service {container.name!r} has no file {path}", remedy="correct `database.sqlite`")
        yield file


def _content(archive: bytes) -> bytes:
    """Of the one file in a tar."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        stream = next((tar.extractfile(member) for member in tar if member.isfile()), None)
        return b"" if stream is None else stream.read()
