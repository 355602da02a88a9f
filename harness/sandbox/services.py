"""Services beside the agent: containers started by testcontainers, restored from a snapshot's dumps, gone at the end.

Their ports are published on 127.0.0.1 alone: the gateway reaches them, a sandbox (which has no network) cannot.
Testcontainers' own reaper is an image that cannot be pulled here, so it is off; what a killed run leaves is found by
the owner's label.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, cast

import requests
from docker.errors import APIError, DockerException, NotFound
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy, LogMessageWaitStrategy
from testcontainers.core.waiting_utils import WaitStrategy

from harness.errors import ServiceError, UsageError
from harness.sandbox.bootstrap import Progress
from harness.sandbox.engine import owner_labels
from harness.sandbox.environment import Environment, Service
from harness.sandbox.images import ImageStore
from harness.sandbox.sealing import digest_of_file
from harness.sandbox.snapshot import ServiceDump, Snapshot

_LAST_LINES = 20
_HOST = "127.0.0.1"
_POLL_S = 0.02
_LOOK_FOR_DEATH_EVERY_S = 1
_LOG = {"type": "json-file", "config": {"max-size": "4m", "max-file": "1"}}


class RunningServices:
    """Services that are ready; a context manager that removes them."""

    def __init__(self, running: "dict[str, _Running]", stack: ExitStack) -> None:
        self._running = running
        self._stack = stack

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def names(self) -> tuple[str, ...]:
        """The services that were started."""
        return tuple(self._running)

    def url(self, name: str) -> str:
        """`http://127.0.0.1:<port>` of a service."""
        return self._running[name].url

    def logs(self, name: str) -> str:
        """What a service has printed so far, as far as the engine keeps it."""
        return self._running[name].logs()

    def stop(self) -> None:
        """Removes them, whatever they are doing; safe to call twice."""
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
    """Starts the environment's services (None: all), each from the snapshot's dump, and waits until they are ready.

    Safe to call from several threads. Raises ServiceError with the end of its log for a service that does not become
    ready, and leaves nothing behind then.
    """
    wanted = tuple(environment.services) if names is None else tuple(names)
    unknown = [name for name in wanted if name not in environment.services]
    if unknown:
        known = ", ".join(environment.services) or "none"
        raise UsageError(f"environment {environment.name!r} has no service {unknown[0]!r}", remedy=f"it has: {known}")
    dumps = {dump.service: dump for dump in snapshot.dumps}
    with ExitStack() as stack:
        running = {}
        for name in wanted:  # all are started before the first is waited for
            progress(f"starting service {name!r}")
            running[name] = _Running(environment, name, images, _dump_file(snapshot, dumps.get(name)))
            stack.callback(running[name].stop)
            running[name].start(run)
        for one in running.values():
            one.wait()
        return RunningServices(running, stack.pop_all())


def dump_service(environment: Environment, name: str, *, images: ImageStore, start: Path, into: Path) -> ServiceDump:
    """Starts a service from its seed, and writes its canonical state to `into`.

    The state must survive its own restoring: a service started from the dump has to give the same dump again.
    """
    if not start.is_file():
        raise ServiceError(f"the seed of service {name!r} is missing: {start}", remedy="correct `seed` in the state")
    into.write_bytes(_dumped(environment, name, images, start))
    again = _dumped(environment, name, images, into)
    if again != into.read_bytes():
        raise ServiceError(
            f"service {name!r} does not come back from its own dump: restored from it, it dumps something else",
            remedy="let the dump hold all of the state, in a fixed order, without times and random values",
        )
    return ServiceDump(service=name, file=into.name, sha256=digest_of_file(into))


def _dumped(environment: Environment, name: str, images: ImageStore, state: Path) -> bytes:
    service = environment.services[name]
    if service.dump is None:
        raise ServiceError(f"service {name!r} has a state to seal but no command to dump it", remedy="declare `dump`")
    running = _Running(environment, name, images, state)
    try:
        running.start(f"seal-{environment.name}")
        running.wait()
        return running.output_of(service.dump.command, service.dump.timeout_s)
    finally:
        running.stop()


def _dump_file(snapshot: Snapshot, dump: ServiceDump | None) -> Path | None:
    return None if dump is None or snapshot.folder is None else snapshot.folder / "dumps" / dump.file


class _OnLoopback(DockerContainer):
    """Reached where its port is published. Testcontainers would guess: beside a `/.dockerenv`, the default gateway."""

    def get_container_host_ip(self) -> str:
        return _HOST

    def get_exposed_port(self, port: int) -> int:
        return int(self.get_docker_client().port(self.get_container_id(), port))


class _Running:
    """One service's container."""

    def __init__(self, environment: Environment, name: str, images: ImageStore, state: Path | None) -> None:
        self._name = name
        self._service: Service = environment.services[name]
        self._image = images.tag(environment.image_of(name))
        self._state = state
        self._url: str | None = None
        testcontainers_config.ryuk_disabled = True
        testcontainers_config.sleep_time = _POLL_S
        with self._engine_answers():
            self._container = _OnLoopback(self._image)

    def start(self, run: str) -> None:
        service, container = self._service, self._container
        # An address without a port: the engine chooses one. The SDK takes the pair, the declared type does not.
        ports = cast("dict[str, Any]", container.ports)
        ports[f"{service.port}/tcp"] = (_HOST, None)
        container.with_envs(**service.env)
        if service.command is not None:
            container.with_command(list(service.command))
        if service.restore is not None and self._state is not None:
            container.with_volume_mapping(self._state.resolve(), service.restore, "ro")
        memory = f"{service.memory_mb}m"
        container.with_kwargs(
            labels=owner_labels(run),
            network="bridge",  # said here, it is not searched for among all networks
            mem_limit=memory,
            memswap_limit=memory,
            pids_limit=service.processes,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            log_config=_LOG,
        )
        with self._engine_answers():
            container.start()

    def wait(self) -> None:
        """Until it is ready; a container that ends before is noticed within a second, not at the time limit."""
        until = time.monotonic() + self._service.timeout_s
        strategy = self._strategy()
        while True:
            try:
                strategy.wait_until_ready(self._container)
            except TimeoutError:
                self._container.reload()
                if self._container.status != "running":
                    raise self._unready("it ended by itself") from None
                if time.monotonic() > until:
                    raise self._unready(f"it was not ready within {self._service.timeout_s:g} s") from None
            except (RuntimeError, StopIteration, ConnectionError):
                raise self._unready("it ended by itself") from None
            except (DockerException, requests.RequestException) as error:
                raise self._unready(f"the engine says: {error}") from None
            else:
                return

    @property
    def url(self) -> str:
        if self._url is None:
            self._url = f"http://{_HOST}:{self._container.get_exposed_port(self._service.port)}"
        return self._url

    def logs(self) -> str:
        try:
            output, errors = self._container.get_logs()
        except NotFound:
            return ""
        return (output + errors).decode("utf-8", errors="replace")

    def output_of(self, command: Sequence[str], timeout_s: float) -> bytes:
        """What the command prints; past the time limit the whole service is ended: an exec cannot be, by itself."""
        wrapped = self._container.get_wrapped_container()
        late = threading.Event()

        def give_up() -> None:
            late.set()
            with suppress(DockerException):  # it ended at this very moment
                wrapped.kill()

        timer = threading.Timer(timeout_s, give_up)
        timer.start()
        try:
            code, (output, errors) = wrapped.exec_run(list(command), demux=True)
        except (DockerException, requests.RequestException) as error:
            raise ServiceError(f"the dump of service {self._name!r} failed: {error}") from None
        finally:
            timer.cancel()
        if late.is_set():
            raise ServiceError(
                f"the dump of service {self._name!r} did not end within {timeout_s:g} s",
                remedy="correct the command, or `dump.timeout_s`",
            )
        if code != 0 or not output:
            said = (errors or b"").decode("utf-8", errors="replace").strip()
            raise ServiceError(
                f"the dump of service {self._name!r} failed: {' '.join(command)} gave exit status {code}"
                f" and {len(output or b'')} bytes\n{said}",
                remedy="the command must print the state and exit with 0",
            )
        return bytes(output)

    def stop(self) -> None:
        with self._engine_answers():
            try:
                self._container.stop()
            except NotFound:
                return  # removed by somebody else: gone is what is wanted
            except APIError as error:
                if error.status_code != requests.codes.conflict:  # its removal is already under way
                    raise

    @contextmanager
    def _engine_answers(self) -> Iterator[None]:
        try:
            yield
        except (DockerException, requests.RequestException) as error:
            raise ServiceError(
                f"the container engine failed for service {self._name!r} ({self._image}): {error}",
                remedy="correct its image or command in environment.yaml; `docker info` must answer",
            ) from None

    def _strategy(self) -> WaitStrategy:
        wait = self._service.wait
        strategy: WaitStrategy = (
            LogMessageWaitStrategy(wait.log)
            if wait.log is not None
            else HttpWaitStrategy(self._service.port, wait.http)
        )
        return strategy.with_startup_timeout(_LOOK_FOR_DEATH_EVERY_S).with_poll_interval(_POLL_S)

    def _unready(self, why: str) -> ServiceError:
        last = (
            "\n".join(f"    {line}" for line in self.logs().splitlines()[-_LAST_LINES:]) or "    (it printed nothing)"
        )
        return ServiceError(
            f"service {self._name!r} ({self._image}) is not there: {why}\n  the end of its log:\n{last}",
            remedy="correct the service, or `wait` and `timeout_s` in its environment.yaml",
        )
