"""Services of an environment: containers started by testcontainers, restored from a snapshot's dumps, removed at the
end.

The gateway reaches them; a sandbox (which has no network) cannot, and they can reach only each other.
"""

import io
import json
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, Self, cast

from pydantic import JsonValue

from harness.errors import ServiceError, UsageError
from harness.sandbox.capture import digest_of_file
from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.environment import DatabasePlace, Environment
from harness.sandbox.images.building import Progress
from harness.sandbox.images.store import ImageStore
from harness.sandbox.service_container import OutputTooLarge, ServiceContainer, open_network
from harness.sandbox.snapshot import ServiceDump, Snapshot
from harness.sandbox.sqlite import ANSWER_BYTES_MAX, PART_BYTES_MAX, PARTS, SqliteReader
from harness.sandbox.tables import QueryFailed, Table, Unmeasurable
from harness.values import JsonObject, canonical_json

_READ_ONLY = "begin transaction isolation level repeatable read read only;"
_QUERY = """
select coalesce(json_agg(row_to_json(harness_rows)), '[]'::json) from (
{query}
) harness_rows;
"""
_TABLES = r"""
select format('select json_build_array(%L, %L::json); select json_build_array(%L, %L::json, t) from %s t;',
              shown, key, shown, key, named)
  from (
    select c.oid::regclass::text as named,
           case when n.nspname = 'public' then c.relname else n.nspname || '.' || c.relname end as shown,
           coalesce(
             (select json_agg(a.attname order by k.place) from pg_catalog.pg_index i
                cross join unnest(i.indkey) with ordinality k(number, place)
                join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
               where i.indrelid = c.oid and i.indisprimary),
             '[]'::json) as key
      from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and not c.relispartition
       and n.nspname <> 'information_schema' and n.nspname not like 'pg\_%') as tables
 where :'wanted' = '[]' or shown in (select json_array_elements_text(:'wanted'::json))
 order by shown
\gexec
"""
_SCRIPT = (
    'printf %s "$1" | PGOPTIONS="-c statement_timeout=$5" LC_MESSAGES=C '
    'psql -X -q -A -t -v ON_ERROR_STOP=1 -v "wanted=$2" -U "$3" -d "$4"'
)


def _printed_rows(printed: bytes) -> list[JsonValue]:
    """Raises ServiceError for output that is not a list."""
    rows = _json(printed)
    if not isinstance(rows, list):
        raise ServiceError("expected the database to print a list of rows, found another form")
    return rows


def _printed_tables(printed: bytes) -> dict[str, Table]:
    """The tables by name; those outside of the schema `public` as `<schema>.<table>`."""
    keys: dict[str, tuple[str, ...]] = {}
    rows: dict[str, list[JsonObject]] = {}
    for line in printed.splitlines():
        name, key, *row = cast("list[Any]", _json(line))
        keys[name] = tuple(key)
        rows.setdefault(name, []).extend(row)
    return {name: Table(key=key, rows=tuple(rows[name])) for name, key in keys.items()}


def _json(text: bytes) -> JsonValue:
    """The JSON of rows, which may have any depth and numbers of any length."""
    try:
        value: JsonValue = json.loads(text, parse_constant=_no_constant)
        canonical_json(value)  # the comparison of rows needs it
    except (ValueError, RecursionError) as error:
        raise Unmeasurable(f"a row cannot be read as JSON: {error}") from None
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


# The agent can write a service's data through its interface: all reads of it are limited.

_QUERY_FAILED = 3
"""The exit status of psql for a script that failed; others mean that the server was not reached."""
_CONNECTION_LOST = 2
_STATEMENT_TOO_SLOW = "statement timeout"
_SERVER_FELL = "server closed the connection unexpectedly"
_MORE_S = 10.0
"""Seconds that a query may take beyond the statement itself."""


def _database_place(container: ServiceContainer) -> DatabasePlace:
    if container.service.database is None:
        raise UsageError(
            f"service {container.name!r} does not declare how its database is queried",
            remedy="declare `database: postgresql:///NAME` or `sqlite:///PATH` in its environment.yaml",
        )
    return DatabasePlace.of(container.service.database)


def _psql(container: ServiceContainer, place: DatabasePlace, script: str, wanted: str, timeout_s: float) -> bytes:
    """What the script prints; the time limit of each statement is `timeout_s`. Raises the errors of `rows`."""
    command = ["sh", "-c", _SCRIPT, "psql", script, wanted, place.role, place.postgresql or ""]
    command.append(str(round(timeout_s * 1000)))
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


def _copied_files(container: ServiceContainer, path: str) -> dict[str, bytes]:
    parts: dict[str, bytes] = {}
    for part in PARTS:
        try:
            archive = container.copy_of(path + part, PART_BYTES_MAX)
        except OutputTooLarge:
            raise Unmeasurable(f"{path + part} is larger than {PART_BYTES_MAX} bytes") from None
        if archive is not None:
            parts[part] = _single_file_content(archive, path + part)
    if "" not in parts:
        raise ServiceError(f"service {container.name!r} has no file {path}", remedy="correct `database`")
    return parts


def _single_file_content(archive: bytes, path: str) -> bytes:
    """The content of the one file in a tar that the engine made."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
        member = tar.next()
        stream = None if member is None or not member.isreg() else tar.extractfile(member)
        if stream is None:
            raise Unmeasurable(f"{path} is not a regular file")
        return stream.read()


class RunningServices(Mapping[str, str]):
    """Services that are ready: name -> URL. A context manager that removes them."""

    def __init__(
        self, running: dict[str, ServiceContainer], open_reader: Callable[[ExitStack], SqliteReader], stack: ExitStack
    ) -> None:
        """`open_reader` returns the reader of SQLite databases; it is called once, and only for such a database."""
        self._running = running
        self._open_reader = open_reader
        self._opened_reader: SqliteReader | None = None
        self._lock = threading.Lock()
        self._stack = stack

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __getitem__(self, name: str) -> str:
        return self._running[name].url

    def __iter__(self) -> Iterator[str]:
        return iter(self._running)

    def __len__(self) -> int:
        return len(self._running)

    def output_of(self, name: str, command: Sequence[str], timeout_s: float, what: str = "the dump") -> bytes:
        """The output of a command in a service's container; see ServiceContainer."""
        return self._running[name].output_of(command, timeout_s, what)

    def rows(self, name: str, query: str, timeout_s: float) -> list[JsonValue]:
        """The result of a query of a service's database.

        Raises QueryFailed for the query, Unmeasurable if a limit is exceeded, ServiceError for all other failures.
        """
        container, place = self._running[name], _database_place(self._running[name])
        if place.sqlite is not None:
            return self._reader().rows(_copied_files(container, place.sqlite), query, timeout_s)
        script = _READ_ONLY + _QUERY.format(query=query.strip().rstrip(";"))
        return _printed_rows(_psql(container, place, script, "[]", timeout_s))

    def tables(self, name: str, wanted: Sequence[str], timeout_s: float) -> dict[str, Table]:
        """The rows of the wanted tables (an empty sequence selects all) of a service's database, without those that are
        missing; raises the same errors.
        """
        container, place = self._running[name], _database_place(self._running[name])
        if place.sqlite is not None:
            return self._reader().tables(_copied_files(container, place.sqlite), tuple(wanted), timeout_s)
        return _printed_tables(_psql(container, place, _READ_ONLY + _TABLES, json.dumps(list(wanted)), timeout_s))

    def _reader(self) -> SqliteReader:
        with self._lock:
            if self._opened_reader is None:
                self._opened_reader = self._open_reader(self._stack)
            return self._opened_reader

    def tails(self) -> dict[str, str]:
        """The end of each service's log."""
        return {name: one.tail() for name, one in self._running.items()}

    def check(self) -> None:
        """Raises ServiceError, with the end of its log, for a service that has stopped."""
        for one in self._running.values():
            one.check()

    def stop(self) -> None:
        """Removes all services, in any state; safe to call twice."""
        self._stack.close()


def start_services(
    environment: Environment,
    snapshot: Snapshot,
    *,
    images: ImageStore,
    run: str,
    names: Sequence[str] | None = None,
    progress: Progress = lambda _: None,
) -> RunningServices:
    """Starts the environment's services (None: all) and what they need, each from the snapshot's dump, until all are
    ready.

    Safe to call from several threads. Raises ServiceError with the end of its log for a service that does not become
    ready, and leaves nothing behind then.
    """
    wanted = tuple(environment.services) if names is None else tuple(names)
    unknown = [name for name in wanted if name not in environment.services]
    if unknown:
        known = ", ".join(environment.services) or "none"
        raise UsageError(f"environment {environment.name!r} has no service {unknown[0]!r}", remedy=f"it has: {known}")
    dumps = {dump.service: dump for dump in snapshot.dumps}
    states = {name: _dump_file(snapshot, dumps.get(name)) for name in environment.services}
    return _start_services(environment, wanted, states, images, run, progress)


def _start_services(
    environment: Environment,
    wanted: Sequence[str],
    states: Mapping[str, Path | None],
    images: ImageStore,
    run: str,
    progress: Progress,
) -> RunningServices:
    with ExitStack() as stack:
        running: dict[str, ServiceContainer] = {}
        groups = environment.start_order(wanted)
        network = open_network(images.client, run) if groups else None
        if network is not None:
            stack.callback(network.remove)
        for group in groups:
            for name in group:  # the services of a group start together
                assert network is not None  # there is a group
                progress(f"starting service {name!r}")
                image = images.tag(environment.image_of(name))
                running[name] = ServiceContainer(name, environment.services[name], image, states.get(name))
                stack.callback(running[name].stop)
                running[name].start(run, network)
            for name in group:
                running[name].wait()
        open_reader = partial(_reader, environment, images, run)
        return RunningServices(running, open_reader, stack.pop_all())


def _reader(environment: Environment, images: ImageStore, run: str, stack: ExitStack) -> SqliteReader:
    """Queries databases in containers of the image of the environment's sandboxes."""
    provider = DockerSandboxProvider(run=run, client=images.client)
    stack.callback(provider.close)
    return SqliteReader(provider=provider, image=images.tag(environment.image), name=f"services-{run}")


def dump_service(environment: Environment, name: str, *, images: ImageStore, start: Path, into: Path) -> ServiceDump:
    """Starts a service from its seed, and writes its canonical state to `into`.

    The state must survive a restore: a service started from the dump has to produce the same dump.
    """
    if not start.is_file():
        raise ServiceError(f"the seed of service {name!r} is missing: {start}", remedy="correct `seed` in the state")
    into.write_bytes(_dumped_state(environment, name, images, start))
    again = _dumped_state(environment, name, images, into)
    if again != into.read_bytes():
        raise ServiceError(
            f"service {name!r} is not restored by its own dump: after a restore, its dump differs",
            remedy="write the whole state into the dump, in a fixed order, without times and random values",
        )
    return ServiceDump(service=name, file=into.name, sha256=digest_of_file(into))


def _dumped_state(environment: Environment, name: str, images: ImageStore, state: Path) -> bytes:
    dump = environment.services[name].dump
    if dump is None:
        raise ServiceError(
            f"service {name!r} has a state to capture but no command to dump it", remedy="declare `dump`"
        )
    run = f"snapshot-{environment.name}"
    with _start_services(environment, (name,), {name: state}, images, run, lambda _: None) as running:
        return running.output_of(name, dump.command, dump.timeout_s)


def _dump_file(snapshot: Snapshot, dump: ServiceDump | None) -> Path | None:
    return None if dump is None or snapshot.folder is None else snapshot.folder / "dumps" / dump.file
