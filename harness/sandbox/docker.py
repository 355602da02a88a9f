"""Sandboxes in containers: sealed, thrown away after use, nothing shared but the kernel.

Two calls to the engine start one, and none ends it: the launcher leaves when its connection closes, and the engine
removes the container by itself, also when the harness was killed.
"""

import threading
import uuid
from collections.abc import Callable
from typing import Literal

import docker

from harness.errors import SandboxError
from harness.sandbox.container import AGENT_FOLDER, AGENT_UID, GATEWAY_FOLDER, GATEWAY_PORT, SEARCH_PATH, Containers
from harness.sandbox.control import Listener
from harness.sandbox.engine import connect
from harness.sandbox.launched import Inside, LaunchedSandbox, layout_for
from harness.sandbox.layout import Layout
from harness.sandbox.owner import owner_labels, private_folder, remove_private_folder
from harness.sandbox.provider import Places, Sandbox, SandboxSpec
from harness.sandbox.running import RunningContainer, compile_launcher, remove_labelled, told
from harness.sandbox.snapshot import Snapshot

PROVIDER_LABEL = "harness.provider"

_REPORTS_WITHIN_S = 60.0


class DockerSandboxProvider:
    """Implements `SandboxProvider`; safe to use from many threads."""

    name: Literal["docker"] = "docker"
    isolates = True

    def __init__(self, *, run: str, client: docker.DockerClient | None = None) -> None:
        self._client = client or connect()
        self._own_client = client is None
        self._id = uuid.uuid4().hex[:12]
        with told("the container engine cannot be used"):
            self._containers = Containers(self._client, {**owner_labels(run), PROVIDER_LABEL: self._id})
        self._open: set[_Cell] = set()
        self._lock = threading.Lock()
        self._closed = False
        compile_launcher()

    def start(self, spec: SandboxSpec, snapshot: Snapshot) -> Sandbox:
        layout = layout_for(spec, snapshot)
        with told("a sandbox cannot be started"):
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
        with told("sandboxes may be left"):
            remove_labelled(self._client, f"{PROVIDER_LABEL}={self._id}")
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
        cell.start(self._containers.config(cell.folder, spec, snapshot, layout))
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


class _Cell:
    """One container with its private folder, from before it exists until nothing of it is left to do."""

    def __init__(self, client: docker.DockerClient, forget: Callable[["_Cell"], None]) -> None:
        self._container = RunningContainer(client)
        self._forget = forget
        self._hang_up: Callable[[], None] | None = None
        self.folder = private_folder()
        self.listener = Listener(self.folder)
        self.start = self._container.start
        self.why_dead = self._container.why_dead

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
        self._container.remove()
