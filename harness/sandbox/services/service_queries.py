"""Queries the database of a service: by `psql` in its container, or as a copy of its SQLite file in a sandbox.

The agent can write a service's data through its interface: all reads of it are limited.
"""

import io
import tarfile
from collections.abc import Callable, Sequence

from harness.errors import ServiceError, UsageError
from harness.sandbox.environment import DatabasePlace
from harness.sandbox.services.service import OutputTooLarge, ServiceContainer
from harness.sandbox.sql.files import PARTS
from harness.sandbox.sql.postgresql import query_command, read_rows, read_tables, tables_command
from harness.sandbox.sql.sqlite import ANSWER_BYTES_MAX, PART_BYTES_MAX, SqliteReader
from harness.sandbox.sql.tables import QueryFailed, Table, Unmeasurable
from harness.values import JsonValue

_QUERY_FAILED = 3
"""The exit status of psql for a script that failed; others mean that the server was not reached."""
_CONNECTION_LOST = 2
_STATEMENT_TOO_SLOW = "statement timeout"
_SERVER_FELL = "server closed the connection unexpectedly"
_MORE_S = 10.0
"""Seconds that a query may take beyond the statement itself."""


def service_rows(
    container: ServiceContainer, open_reader: Callable[[], SqliteReader], query: str, timeout_s: float
) -> list[JsonValue]:
    """The rows of a query; `open_reader` is for a database of SQLite.

    Raises QueryFailed where the database rejects the query, Unmeasurable where it exceeds the limits, ServiceError
    where the database cannot be reached.
    """
    place = _place(container)
    if place.sqlite is None:
        return read_rows(_printed(container, query_command(place, query, timeout_s), timeout_s))
    return open_reader().rows(_copied(container, place.sqlite), query, timeout_s)


def service_tables(
    container: ServiceContainer, open_reader: Callable[[], SqliteReader], wanted: Sequence[str], timeout_s: float
) -> dict[str, Table]:
    """The rows of tables; raises the same errors. A missing table is omitted."""
    place = _place(container)
    if place.sqlite is None:
        return read_tables(_printed(container, tables_command(place, tuple(wanted), timeout_s), timeout_s))
    return open_reader().tables(_copied(container, place.sqlite), tuple(wanted), timeout_s)


def _place(container: ServiceContainer) -> DatabasePlace:
    if container.service.database is None:
        raise UsageError(
            f"service {container.name!r} does not declare how its database is queried",
            remedy="declare `database: {postgresql: NAME}` or `{sqlite: /path}` in its environment.yaml",
        )
    return container.service.database


def _printed(container: ServiceContainer, command: Sequence[str], timeout_s: float) -> bytes:
    try:
        code, output, errors = container.ran(
            command, timeout_s + _MORE_S, "a question to the database", most_bytes=ANSWER_BYTES_MAX
        )
    except OutputTooLarge:
        raise Unmeasurable(f"the rows are larger than {ANSWER_BYTES_MAX} bytes") from None
    if code == _QUERY_FAILED and _STATEMENT_TOO_SLOW in errors:
        raise Unmeasurable(f"the statement takes more than {timeout_s:g} s")
    if code == _QUERY_FAILED:
        raise QueryFailed(errors)
    if code == _CONNECTION_LOST and _SERVER_FELL in errors:
        raise Unmeasurable(f"the database closed the connection during the query: {errors[-500:]}")
    if code != 0:
        raise ServiceError(
            f"the database of service {container.name!r} cannot be queried: psql exited with {code}\n{errors}",
            remedy="correct `database` in its environment.yaml",
            logs={container.name: container.tail()},
        )
    return output


def _copied(container: ServiceContainer, path: str) -> dict[str, bytes]:
    parts: dict[str, bytes] = {}
    for part in PARTS:
        try:
            archive = container.copy_of(path + part, PART_BYTES_MAX)
        except OutputTooLarge:
            raise Unmeasurable(f"{path + part} is larger than {PART_BYTES_MAX} bytes") from None
        if archive is not None:
            parts[part] = _content(archive, path + part)
    if "" not in parts:
        raise ServiceError(f"service {container.name!r} has no file {path}", remedy="correct `database.sqlite`")
    return parts


def _content(archive: bytes, path: str) -> bytes:
    """The content of the one file in a tar that the engine made."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        member = tar.next()
        stream = None if member is None or not member.isreg() else tar.extractfile(member)
        if stream is None:
            raise Unmeasurable(f"{path} is not a regular file")
        return stream.read()
