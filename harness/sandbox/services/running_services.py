"""Services of an environment: containers started by testcontainers, restored from a snapshot's dumps, removed at the
end.

The gateway reaches them; a sandbox (which has no network) cannot, and they can reach only each other.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

from harness.errors import ServiceError, UsageError
from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.environment import Environment
from harness.sandbox.images.bootstrap import Progress
from harness.sandbox.images.image_store import ImageStore
from harness.sandbox.services.service import ServiceContainer
from harness.sandbox.services.service_network import open_network
from harness.sandbox.services.service_queries import service_rows, service_tables
from harness.sandbox.sql.sqlite import SqliteReader
from harness.sandbox.sql.tables import Table
from harness.sandbox.state.capture import digest_of_file
from harness.sandbox.state.snapshot import ServiceDump, Snapshot
from harness.values import JsonValue


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

    @property
    def names(self) -> tuple[str, ...]:
        """The services that were started."""
        return tuple(self._running)

    def url(self, name: str) -> str:
        """`http://<address>:<port>` of a service."""
        return self._running[name].url

    def logs(self, name: str) -> str:
        """What a service has printed so far, as far as the engine keeps it."""
        return self._running[name].logs()

    def output_of(self, name: str, command: Sequence[str], timeout_s: float, what: str = "the dump") -> bytes:
        """The output of a command in a service's container; see ServiceContainer."""
        return self._running[name].output_of(command, timeout_s, what)

    def rows(self, name: str, query: str, timeout_s: float) -> list[JsonValue]:
        """The result of a query of a service's database.

        Raises QueryFailed for the query, Unmeasurable where a limit is exceeded, ServiceError for all other failures.
        """
        return service_rows(self._running[name], self._reader, query, timeout_s)

    def tables(self, name: str, wanted: Sequence[str], timeout_s: float) -> dict[str, Table]:
        """The rows of the wanted tables (an empty sequence selects all) of a service's database; raises the same
        errors.
        """
        return service_tables(self._running[name], self._reader, wanted, timeout_s)

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
    return _started(environment, wanted, states, images, run, progress)


def _started(
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
    provider = DockerSandboxProvider(run=run, client=images.client, runtime=environment.runtime)
    stack.callback(provider.close)
    return SqliteReader(provider=provider, image=images.tag(environment.image), name=f"services-{run}")


def dump_service(environment: Environment, name: str, *, images: ImageStore, start: Path, into: Path) -> ServiceDump:
    """Starts a service from its seed, and writes its canonical state to `into`.

    The state must survive a restore: a service started from the dump has to produce the same dump.
    """
    if not start.is_file():
        raise ServiceError(f"the seed of service {name!r} is missing: {start}", remedy="correct `seed` in the state")
    into.write_bytes(_dumped(environment, name, images, start))
    again = _dumped(environment, name, images, into)
    if again != into.read_bytes():
        raise ServiceError(
            f"service {name!r} is not restored by its own dump: after a restore, its dump differs",
            remedy="write the whole state into the dump, in a fixed order, without times and random values",
        )
    return ServiceDump(service=name, file=into.name, sha256=digest_of_file(into))


def _dumped(environment: Environment, name: str, images: ImageStore, state: Path) -> bytes:
    dump = environment.services[name].dump
    if dump is None:
        raise ServiceError(
            f"service {name!r} has a state to capture but no command to dump it", remedy="declare `dump`"
        )
    run = f"snapshot-{environment.name}"
    with _started(environment, (name,), {name: state}, images, run, lambda _: None) as running:
        return running.output_of(name, dump.command, dump.timeout_s)


def _dump_file(snapshot: Snapshot, dump: ServiceDump | None) -> Path | None:
    return None if dump is None or snapshot.folder is None else snapshot.folder / "dumps" / dump.file
