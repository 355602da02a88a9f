"""One service's container: started, awaited until ready, queried, and removed at the end.

Testcontainers' own reaper is an image that may not be available, so it is disabled; containers of a killed run are
found by the owner's label.
"""

import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import docker
import requests
from docker.errors import APIError, DockerException, NotFound
from docker.utils.socket import frames_iter
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy, LogMessageWaitStrategy
from testcontainers.core.waiting_utils import WaitStrategy

from harness.errors import ServiceError
from harness.sandbox.engine import facts_of
from harness.sandbox.environment import Service
from harness.sandbox.host_guard import guard, interface_of, unguard
from harness.sandbox.ownership import owner_labels

# The network that the services of one trial share: they find each other by name, and no route leads out of it.
#
# It is reached by the containers' own addresses, which works only on the engine's machine, and publishes no ports. If
# the engine runs elsewhere (a virtual machine, a rootless daemon), the alternative is a network without address
# translation, with ports published on the loopback address.
#
# A rule of the machine's packet filter blocks services from servers of the machine itself (`host_guard`). If no rule
# can be set, they can reach servers that listen on all of its addresses: `guarded` and `harness doctor` report that.

_NO_MASQUERADE = {"com.docker.network.bridge.enable_ip_masquerade": "false"}
_ALL_TAKEN = "non-overlapping"


@dataclass(frozen=True, kw_only=True)
class ServiceNetwork:
    """A network that exists until it is removed."""

    client: docker.DockerClient
    id: str
    name: str
    published: bool
    """Ports are published on the loopback address; else the containers' own addresses are used."""
    guarded: bool
    """Whether the services cannot reach servers of the engine's machine."""

    def attached(self, alias: str) -> dict[str, Any]:
        """The settings that attach a container to it under that name."""
        endpoint = self.client.api.create_endpoint_config(aliases=[alias])
        return {
            "network": self.name,
            "networking_config": {self.name: endpoint},
            # The engine would ask the machine's resolver for external names: data could leave in such names.
            "dns": ["127.0.0.1"],
            "dns_opt": ["timeout:1", "attempts:1"],
        }

    def address_of(self, container: str) -> str:
        found: str = self.client.api.inspect_container(container)["NetworkSettings"]["Networks"][self.name]["IPAddress"]
        return found

    def remove(self) -> None:
        """Removes the network; a missing one is not an error, and one with remaining containers is left to
        the reaper.
        """
        with suppress(NotFound):
            try:
                self.client.api.remove_network(self.id)
            except APIError as error:
                if error.status_code != requests.codes.forbidden:  # endpoints are just being removed
                    raise
                return
        if self.guarded:
            unguard(interface_of(self.id))


def open_network(
    client: docker.DockerClient, run: str, *, published: bool | None = None, guarded: bool = True
) -> ServiceNetwork:
    """A new network of this process. With `published` None, the engine's needs decide. `guarded` is applied where
    possible.

    Raises ServiceError if the engine has no free addresses.
    """
    name = f"harness-{uuid4().hex[:16]}"
    chosen = is_elsewhere(client) if published is None else published
    try:
        made = client.api.create_network(
            name,
            driver="bridge",
            internal=not chosen,
            options=_NO_MASQUERADE if chosen else None,
            labels=owner_labels(run),
            check_duplicate=True,
        )
    except (DockerException, requests.RequestException) as error:
        remedy = "`docker info` must answer"
        if _ALL_TAKEN in str(error):
            remedy = (
                "run fewer trials at once (--jobs), or give the engine more: `default-address-pools` in daemon.json"
            )
        raise ServiceError(f"the container engine makes no network for the services: {error}", remedy=remedy) from None
    stands = guarded and not chosen and guard(interface_of(made["Id"]))
    return ServiceNetwork(client=client, id=made["Id"], name=name, published=chosen, guarded=stands)


def is_elsewhere(client: docker.DockerClient) -> bool:
    """Whether the engine's containers have addresses that this process cannot reach."""
    if sys.platform != "linux" or not str(client.api.base_url).startswith("http+docker://"):
        return True
    info = client.info()
    return facts_of(client.version(), info).rootless or "Docker Desktop" in str(info.get("OperatingSystem"))


_LAST_LINES = 20
_NO_PROGRAM = re.compile(r"not found\s*$|No such file or directory")
_LOOPBACK = "127.0.0.1"
_POLL_S = 0.02
_LOOK_FOR_DEATH_EVERY_S = 1
_KILLED = 137
_OUTPUT, _ERRORS = 1, 2
"""How the engine marks the two output streams of a command."""
_TAR_MORE = 64 * 1024
"""The size of a tar of one file beyond the file's own."""
_LOG = {"type": "json-file", "config": {"max-size": "4m", "max-file": "1"}}


class OutputTooLarge(Exception):
    """A service produced more output than is accepted."""


class _Reached(DockerContainer):
    """Uses the host of the service's network. Testcontainers would guess: beside a `/.dockerenv`, the default
    gateway.
    """

    place: tuple[str, int] = (_LOOPBACK, 0)

    def get_container_host_ip(self) -> str:
        return self.place[0]

    def get_exposed_port(self, port: int) -> int:  # noqa: ARG002 - a service has one
        return self.place[1]


class ServiceContainer:
    """A service of an environment; `name` is its host name for the other services."""

    def __init__(self, name: str, service: Service, image: str, state: Path | None) -> None:
        self.name = name
        self.service = service
        self._image = image
        self._state = state
        testcontainers_config.ryuk_disabled = True
        testcontainers_config.sleep_time = _POLL_S
        with self._engine_answers():
            self._container = _Reached(self._image)

    def start(self, run: str, network: ServiceNetwork) -> None:
        """Raises ServiceError; `stop` then removes the created containers."""
        service, container = self.service, self._container
        if network.published:
            # An address without a port: the engine chooses one. The SDK takes the pair, the declared type does not.
            ports = cast("dict[str, Any]", container.ports)
            ports[f"{service.port}/tcp"] = (_LOOPBACK, None)
        container.with_envs(**service.env)
        if service.command is not None:
            container.with_command(list(service.command))
        if service.restore is not None and self._state is not None:
            container.with_volume_mapping(self._state.resolve(), service.restore, "ro")
        memory = f"{service.memory_mb}m"
        container.with_kwargs(
            labels=owner_labels(run),
            mem_limit=memory,
            memswap_limit=memory,
            pids_limit=service.processes,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            log_config=_LOG,
            **network.attached(self.name),
        )
        with self._engine_answers():
            container.start()
            container.place = self._address_of(network)

    @property
    def id(self) -> str:
        return self._container.get_container_id()

    @property
    def url(self) -> str:
        """`http://<address>:<port>`, as the harness reaches it."""
        host, port = self._container.place
        return f"http://{host}:{port}"

    def wait(self) -> None:
        """Waits until the service is ready; a container that ends before is noticed within a second."""
        until = time.monotonic() + self.service.timeout_s
        strategy = self._strategy()
        while True:
            try:
                strategy.wait_until_ready(self._container)
            except TimeoutError:
                self._container.reload()
                if self._container.status != "running":
                    raise self._service_error("is not available: it ended by itself") from None
                if time.monotonic() > until:
                    why = f"is not available: it was not ready within {self.service.timeout_s:g} s"
                    raise self._service_error(why) from None
            except (RuntimeError, StopIteration, ConnectionError):
                raise self._service_error("is not available: it ended by itself") from None
            except (DockerException, requests.RequestException) as error:
                raise self._service_error(f"is not available: the container engine answered: {error}") from None
            else:
                return

    def check(self) -> None:
        """Raises ServiceError, with the end of its log, if the service has stopped."""
        with self._engine_answers():
            try:
                self._container.reload()
                state = self._container.get_wrapped_container().attrs["State"]
            except NotFound:
                raise self._service_error("was removed while it was needed") from None
        if not state["Running"]:
            how = "it ran out of memory" if state.get("OOMKilled") else f"exit status {state['ExitCode']}"
            raise self._service_error(f"ended while it was needed: {how}")

    def tail(self) -> str:
        """The last lines of its output, as far as the engine keeps it."""
        try:
            output, errors = self._container.get_logs()
        except NotFound:
            return ""
        return "\n".join((output + errors).decode("utf-8", errors="replace").splitlines()[-_LAST_LINES:])

    def output_of(self, command: Sequence[str], timeout_s: float, what: str) -> bytes:
        """The output of the command. Raises ServiceError, which calls it `what`, if it fails or prints nothing."""
        code, output, errors = self.ran(command, timeout_s, what)
        if code != 0 or not output:
            raise ServiceError(
                f"{what} of service {self.name!r} failed: {' '.join(command)} gave exit status {code}"
                f" and {len(output)} bytes\n{errors}",
                remedy="the command must print the state and exit with 0",
            )
        return output

    def ran(
        self, command: Sequence[str], timeout_s: float, what: str, most_bytes: int | None = None
    ) -> tuple[int, bytes, str]:
        """Exit status and output of a command in the container.

        At the time limit the whole service is ended, because an exec cannot be ended alone. Raises ServiceError then,
        and OutputTooLarge if the command prints more than `most_bytes`.
        """
        late = threading.Event()

        def give_up() -> None:
            late.set()
            with suppress(DockerException):  # it ended at this very moment
                self._container.get_wrapped_container().kill()

        timer = threading.Timer(timeout_s, give_up)
        timer.start()
        try:
            code, output, errors = self._executed(command, most_bytes)
        except (DockerException, requests.RequestException) as error:
            raise ServiceError(f"{what} of service {self.name!r} failed: {error}", logs=self._logged()) from None
        finally:
            timer.cancel()
        if late.is_set():
            raise ServiceError(
                f"{what} of service {self.name!r} did not end within {timeout_s:g} s",
                remedy="correct the command, or its `timeout_s`",
            )
        return code, output, errors.decode("utf-8", errors="replace").strip()

    def _executed(self, command: Sequence[str], most_bytes: int | None) -> tuple[int, bytes, bytes]:
        api = self._container.get_wrapped_container().client.api
        started = api.exec_create(self.id, list(command))["Id"]
        output = {_OUTPUT: bytearray(), _ERRORS: bytearray()}
        stream = api.exec_start(started, socket=True)
        try:
            for kind, part in frames_iter(stream, tty=False):
                output[kind] += part
                if most_bytes is not None and sum(map(len, output.values())) > most_bytes:
                    raise OutputTooLarge
        finally:
            stream._response.close()  # the SDK never closes it
            stream.close()
        code = api.exec_inspect(started)["ExitCode"]
        return _KILLED if code is None else int(code), bytes(output[_OUTPUT]), bytes(output[_ERRORS])

    def copy_of(self, path: str, most_bytes: int) -> bytes | None:
        """A tar with the file at `path`; None: the file is missing. Raises OutputTooLarge for a larger file."""
        try:
            chunks, state = self._container.get_wrapped_container().get_archive(path)
            if state["size"] > most_bytes:
                raise OutputTooLarge
            return _joined_within(chunks, most_bytes + _TAR_MORE)
        except NotFound:
            return None
        except (DockerException, requests.RequestException) as error:
            raise ServiceError(
                f"{path} of service {self.name!r} cannot be read: {error}", logs=self._logged()
            ) from None

    def stop(self) -> None:
        """Removes the container, in any state; safe to call twice."""
        with self._engine_answers():
            try:
                self._container.stop()
            except NotFound:
                return  # another process has removed it already
            except APIError as error:
                if error.status_code != requests.codes.conflict:  # its removal is already under way
                    raise

    def _address_of(self, network: ServiceNetwork) -> tuple[str, int]:
        if not network.published:
            return network.address_of(self.id), self.service.port
        return _LOOPBACK, int(self._container.get_docker_client().port(self.id, self.service.port))

    @contextmanager
    def _engine_answers(self) -> Iterator[None]:
        try:
            yield
        except (DockerException, requests.RequestException) as error:
            raise ServiceError(
                f"the container engine failed for service {self.name!r} ({self._image}): {error}",
                remedy="correct its image or command in environment.yaml; `docker info` must answer",
            ) from None

    def _strategy(self) -> WaitStrategy:
        wait = self.service.wait
        strategy: WaitStrategy = (
            LogMessageWaitStrategy(wait.log) if wait.log is not None else HttpWaitStrategy(self.service.port, wait.http)
        )
        return strategy.with_startup_timeout(_LOOK_FOR_DEATH_EVERY_S).with_poll_interval(_POLL_S)

    def _service_error(self, why: str) -> ServiceError:
        tail = self.tail()
        shown = "\n".join(f"    {line}" for line in tail.splitlines()) or "    (it printed nothing)"
        remedy = "correct the service, or `wait`, `timeout_s` and `memory_mb` in its environment.yaml"
        if _NO_PROGRAM.search(tail):
            remedy += "; of a package of Python, `python3 -m MODULE` is there, and its command is not"
        return ServiceError(
            f"service {self.name!r} ({self._image}) {why}\n  the end of its log:\n{shown}",
            remedy=remedy,
            logs={self.name: tail},
        )

    def _logged(self) -> dict[str, str]:
        with suppress(DockerException, requests.RequestException):
            return {self.name: self.tail()}
        return {}


def _joined_within(chunks: Iterable[bytes], most_bytes: int) -> bytes:
    taken = bytearray()
    for chunk in chunks:
        taken += chunk
        if len(taken) > most_bytes:
            raise OutputTooLarge
    return bytes(taken)
