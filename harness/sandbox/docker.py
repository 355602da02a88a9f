"""Sandboxes in containers: sealed, thrown away after use, nothing shared but the kernel.

Two calls to the engine start one, and none ends it: the launcher leaves when its connection closes, and the engine
removes the container by itself, also when the harness was killed.
"""

import compileall
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import docker
import requests
from docker.errors import APIError, DockerException, NotFound

import harness.sandbox.inside as inside_package
from harness.errors import SandboxError
from harness.sandbox.container import AGENT_FOLDER, AGENT_UID, GATEWAY_FOLDER, GATEWAY_PORT, SEARCH_PATH, Containers
from harness.sandbox.control import Listener
from harness.sandbox.engine import connect
from harness.sandbox.launched import Inside, LaunchedSandbox, layout_for
from harness.sandbox.layout import Layout
from harness.sandbox.owner import owner_labels, private_folder, remove_private_folder
from harness.sandbox.provider import Places, Sandbox, SandboxSpec
from harness.sandbox.snapshot import Snapshot

PROVIDER_LABEL = "harness.provider"

_REPORTS_WITHIN_S = 60.0
_GONE_WITHIN_S = 60.0


class DockerSandboxProvider:
    """Implements `SandboxProvider`; safe to use from many threads."""

    name: Literal["docker"] = "docker"
    isolates = True

    def __init__(self, *, run: str, client: docker.DockerClient | None = None) -> None:
        self._client = client or connect()
        self._own_client = client is None
        self._id = uuid.uuid4().hex[:12]
        with _told("the container engine cannot be used"):
            self._containers = Containers(self._client, {**owner_labels(run), PROVIDER_LABEL: self._id})
        self._open: set[_Cell] = set()
        self._lock = threading.Lock()
        self._closed = False
        _compile_launcher()

    def start(self, spec: SandboxSpec, snapshot: Snapshot) -> Sandbox:
        layout = layout_for(spec, snapshot)
        with _told("a sandbox cannot be started"):
            cell = self._cell()
            try:
                return self._started(cell, spec, snapshot, layout)
            except BaseException:
                cell.remove()
                raise

    def close(self) -> None:
        with self._lock:
            self._closed = True
            still_open = list(self._open)
        for cell in still_open:
            cell.discard()
        with _told("sandboxes may be left"):
            self._remove_all()
        if self._own_client:
            self._client.close()

    def _cell(self) -> "_Cell":
        with self._lock:
            if self._closed:
                raise SandboxError("the sandbox provider is closed")
            cell = _Cell(self._client, self._forget)
            self._open.add(cell)
        return cell

    def _started(self, cell: "_Cell", spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> Sandbox:
        cell.run(self._containers.config(cell.folder, spec, snapshot, layout))
        control = cell.listener.accept(_REPORTS_WITHIN_S, cell.why_dead)
        cell.on_discard(control.close)
        socket = spec.gateway_socket
        places = Places(
            agent=AGENT_FOLDER,
            work="/work",
            gateway_url=None,
            gateway_socket=None if socket is None else f"{GATEWAY_FOLDER}/{socket.name}",
        )
        inside = Inside(
            places=places,
            temporary="/tmp",
            search_path=SEARCH_PATH,
            real={place: place for place in layout.places},
            uid=AGENT_UID,
        )
        sandbox = LaunchedSandbox(control, inside, spec, cell.why_dead, cell.discard)
        doors = () if spec.outside is None else spec.outside.ports
        sandbox.restore(snapshot, layout, (GATEWAY_PORT, *doors))
        return sandbox

    def _forget(self, cell: "_Cell") -> None:
        with self._lock:
            self._open.discard(cell)

    def _remove_all(self) -> None:
        """Most are leaving by themselves; who is still there after a moment is removed."""
        deadline = time.monotonic() + _GONE_WITHIN_S
        force_from = time.monotonic() + 2.0
        while left := self._client.api.containers(all=True, filters={"label": f"{PROVIDER_LABEL}={self._id}"}):
            if time.monotonic() > deadline:
                names = ", ".join(container["Id"][:12] for container in left)
                raise SandboxError(f"containers cannot be removed: {names}", remedy="run `harness doctor`")
            if time.monotonic() > force_from:
                for container in left:
                    _remove(self._client, container["Id"])
            time.sleep(0.05)


class _Cell:
    """One container with its private folder, from before it exists until nothing of it is left to do."""

    def __init__(self, client: docker.DockerClient, forget: Callable[["_Cell"], None]) -> None:
        self._client = client
        self._forget = forget
        self._id: str | None = None
        self._began = int(time.time())
        self._hang_up: Callable[[], None] | None = None
        self.folder = private_folder()
        self.listener = Listener(self.folder)

    def run(self, container: dict[str, Any]) -> None:
        api = self._client.api
        try:
            self._id = api.create_container(**container)["Id"]
            api.start(self._id)
        except APIError as error:
            raise SandboxError(f"the container cannot be started: {error.explanation}", remedy=_remedy(error)) from None

    def on_discard(self, hang_up: Callable[[], None]) -> None:
        self._hang_up = hang_up

    def discard(self) -> None:
        """Lets the container go; it removes itself."""
        if self._hang_up is not None:
            self._hang_up()
        self.listener.close()
        remove_private_folder(self.folder)
        self._forget(self)

    def remove(self) -> None:
        """For a container whose launcher may never have run."""
        self.discard()
        if self._id is not None:
            _remove(self._client, self._id)

    def why_dead(self) -> str | None:
        """None while it runs."""
        if self._id is None:
            return "it was never created"
        try:
            return self._death(self._id)
        except (DockerException, OSError) as error:
            return f"the container engine does not answer: {error}"

    def _death(self, container: str) -> str | None:
        """The engine's events outlive the container and tell its exit code."""
        try:
            state = self._client.api.inspect_container(container)["State"]
        except NotFound:
            state = {"Running": False}
        if state["Running"]:
            return None
        filters = {"container": container, "event": ["die", "oom"]}
        events = [
            json.loads(line)
            for line in self._client.api.events(since=self._began, until=int(time.time()) + 1, filters=filters)
            if line.strip()
        ]
        codes = [event["Actor"]["Attributes"].get("exitCode") for event in events if event["Action"] == "die"]
        code = codes[-1] if codes else state.get("ExitCode", "unknown")
        memory = " after it ran out of memory" if any(event["Action"] == "oom" for event in events) else ""
        return f"its container ended with exit code {code}{memory}"


def _compile_launcher() -> None:
    """Where host and image have the same Python, no sandbox compiles the launcher again."""
    compileall.compile_dir(inside_package.__path__[0], maxlevels=0, quiet=2)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """What the engine or this machine refuses becomes the one kind of error that a trial is recorded with."""
    try:
        yield
    except (DockerException, OSError) as error:
        raise SandboxError(f"{what}: {error}", remedy="see what `harness doctor` says") from error


def _remove(client: docker.DockerClient, container: str) -> None:
    try:
        client.api.remove_container(container, force=True, v=True)
    except APIError as error:
        if error.status_code not in (requests.codes.not_found, requests.codes.conflict):
            raise SandboxError(f"container {container[:12]} cannot be removed: {error.explanation}") from None


def _remedy(error: APIError) -> str:
    if error.status_code == requests.codes.not_found:
        return "build the image: `harness image build`"
    return "the image needs python3; the engine must see this machine's files (no remote DOCKER_HOST)"
