"""Sandboxes in containers: isolated, discarded after use, sharing only the kernel.

Starting a sandbox takes two calls to the engine, ending it none: the launcher exits when its connection closes, and the
engine then removes the container, also when the harness was killed.
"""

import os
import selectors
import socket
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import docker

from harness.errors import SandboxError
from harness.sandbox.containers.configuration import (
    CONTROL_FOLDER,
    GATEWAY_FOLDER,
    Containers,
    gateway_ports,
    mounted_sockets,
)
from harness.sandbox.containers.running import (
    EngineOutage,
    RunningContainer,
    compile_launcher,
    engine_errors,
    remove_all_of,
)
from harness.sandbox.control import Control, ControlListener
from harness.sandbox.engine import connect
from harness.sandbox.inside.multiplexer import CONTROL, GATEWAY, READ_AT_ONCE, READY, Multiplexer
from harness.sandbox.launched import LaunchedSandbox
from harness.sandbox.layout import Layout, Layouts
from harness.sandbox.ownership import owner_labels, private_folder, remove_private_folder
from harness.sandbox.provider import Sandbox, SandboxSpec
from harness.sandbox.snapshot import Snapshot

# A trial's sockets for engines into which no socket of this machine can be mounted, as those in a virtual machine.
#
# A container of its own, the relay, listens on sockets in volumes that the trial's container shares. The connections
# are carried over its standard input and output, which are attached, and end at the sockets of this machine. The relay
# ends when this process does.

_READY_WITHIN_S = 60.0
_RETRY_S = 0.005
_ENDS_WITHIN_S = 5.0
_HEAD = 8
_STDERR = 2
_WORDS_MAX = 2000


class RelayContainer:
    """The relay of one trial's container."""

    def __init__(self, client: docker.DockerClient, sockets: Mapping[bytes, Path]) -> None:
        """`sockets`: where the connections to each service end on this machine."""
        self._container = RunningContainer(client)
        self._client = client
        self._sockets = sockets
        self._attached: list[Any] = []
        self._thread: threading.Thread | None = None
        self._end: _HostEnd | None = None

    def start(self, config: dict[str, Any]) -> str:
        """Returns the container's id when its sockets exist. Raises SandboxError."""
        identity = self._container.create(config)
        # Attached before it starts, so that the client cannot read ahead what belongs to the stream.
        attached = self._client.api.attach_socket(identity, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        stream = _raw_socket(attached)
        self._attached = [attached, stream]
        end = self._end = _HostEnd(stream, self._sockets)
        self._thread = threading.Thread(target=end.serve, name="relay", daemon=True)
        self._thread.start()
        self._container.run()
        if not end.ready.wait(_READY_WITHIN_S) or end.ended:
            reason = end.words() or self._container.why_dead() or f"it did not report within {_READY_WITHIN_S:g} s"
            raise SandboxError(f"the relay of a sandbox did not start: {reason}")
        return identity

    def close(self) -> None:
        """Closes the stream, upon which the relay and every connection end; its container removes itself."""
        if self._end is not None:
            self._end.hang_up()
        if self._thread is not None:
            self._thread.join(_ENDS_WITHIN_S)
        for held in self._attached:
            held.close()

    def remove(self) -> None:
        """Removes a relay that may never have run."""
        self.close()
        self._container.remove()


class _HostEnd:
    """This machine's end of the stream, served by a thread."""

    def __init__(self, stream: socket.socket, sockets: Mapping[bytes, Path]) -> None:
        stream.setblocking(False)
        self.ready = threading.Event()
        """Set when the relay listens, or has ended."""
        self.ended = False
        self._stream = stream
        self._sockets = sockets
        self._selector = selectors.DefaultSelector()
        self._mux = Multiplexer(self._watch, stream.fileno(), self._add_connection)
        self._unconnected: dict[int, tuple[socket.socket, Path]] = {}
        self._frames = _AttachedOutput()

    def serve(self) -> None:
        """Forwards until the stream ends."""
        try:
            while not self.ended:
                self._connect_waiting()
                self._mux.flush()
                self._watch(self._stream.fileno(), True, self._mux.has_unsent, self._receive)
                for key, _ in self._selector.select(_RETRY_S if self._unconnected else None):
                    if self._selector.get_map().get(key.fd) is not None:  # not closed by an earlier handler
                        key.data()
        finally:
            self.ended = True
            self._mux.close()
            self._selector.close()
            self.ready.set()

    def words(self) -> str:
        """What the relay wrote to its standard error."""
        return self._frames.words.decode("utf-8", "replace").strip()

    def hang_up(self) -> None:
        """Ends the stream, whatever its thread does."""
        with suppress(OSError):  # the relay has ended already
            self._stream.shutdown(socket.SHUT_RDWR)

    def _receive(self) -> None:
        try:
            data = os.read(self._stream.fileno(), READ_AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.ended = not data
        try:
            self._mux.receive(self._frames.taken(data))
        except ValueError:  # something else than a relay writes there: the trial's connections end
            self.ended = True

    def _add_connection(self, number: int, service: bytes) -> None:
        if service == READY:
            self.ready.set()
            return
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        self._mux.join(number, connection)
        self._unconnected[number] = (connection, self._sockets[service])

    def _connect_waiting(self) -> None:
        """A gateway with a full backlog is tried again, one that is gone closes the connection."""
        for number, (connection, path) in list(self._unconnected.items()):
            try:
                connection.connect(os.fspath(path))
            except BlockingIOError:
                continue
            except OSError:
                self._mux.refuse(number)
            else:
                self._mux.connected(number)
            del self._unconnected[number]

    def _watch(self, fd: int, reads: bool, writes: bool, handler: Callable[[], None]) -> None:
        events = selectors.EVENT_READ * reads | selectors.EVENT_WRITE * writes
        known = self._selector.get_map().get(fd)
        if known is None:
            if events:
                self._selector.register(fd, events, handler)
        elif not events:
            self._selector.unregister(fd)
        elif known.events != events:
            self._selector.modify(fd, events, handler)


class _AttachedOutput:
    """Takes the engine's framing off an attached output: parts with a head, which says whether they are an error's."""

    def __init__(self) -> None:
        self.words = b""
        self._received = bytearray()

    def taken(self, data: bytes) -> bytes:
        """The standard output in what was received up to now."""
        self._received += data
        output = []
        at = 0
        while len(self._received) >= at + _HEAD:
            end = at + _HEAD + int.from_bytes(self._received[at + 4 : at + _HEAD], "big")
            if len(self._received) < end:
                break
            part = bytes(self._received[at + _HEAD : end])
            if self._received[at] == _STDERR:
                self.words = (self.words + part)[-_WORDS_MAX:]
            else:
                output.append(part)
            at = end
        del self._received[:at]
        return b"".join(output)


def _raw_socket(attached: Any) -> socket.socket:
    """The socket below what the client returns; bytes of an encrypted connection are not the stream's."""
    found = getattr(attached, "_sock", attached)
    if type(found) is not socket.socket:
        raise SandboxError(
            "the container engine is reached over an encrypted connection, which cannot carry a sandbox's sockets",
            remedy="use the engine's own socket: DOCKER_HOST=unix:///path",
        )
    return found


PROVIDER_LABEL = "harness.provider"

_REPORTS_WITHIN_S = 60.0


class ContainerProvider(ABC):
    """What providers of containers share: everything that they start has their label, and is removed at the end."""

    isolates = True

    def __init__(self, run: str, client: docker.DockerClient | None) -> None:
        self._client = client or connect()
        self._own_client = client is None
        self._id = uuid.uuid4().hex[:12]
        with engine_errors("the container engine cannot be used"):
            self._containers = Containers(self._client, {**owner_labels(run), PROVIDER_LABEL: self._id})
        self._lock = threading.Condition()
        self._layouts = Layouts()
        self._closed = False
        self._outage = EngineOutage(self._client)
        self._relay_volumes: set[str] = set()
        """Made again, without their labels, for a container that is created while its relay is going."""
        compile_launcher()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._outage.close()
        self._release_all()
        with engine_errors("sandboxes may be left"):
            remove_all_of(self._client, f"{PROVIDER_LABEL}={self._id}", self._relay_volumes)
        if self._own_client:
            self._client.close()

    @abstractmethod
    def _release_all(self) -> None:
        """Ends all sandboxes, whose containers then remove themselves."""

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise SandboxError("the sandbox provider is closed")


class DockerSandboxProvider(ContainerProvider):
    """Implements `SandboxProvider`; safe to use from many threads."""

    name: Literal["docker"] = "docker"

    def __init__(self, *, run: str, client: docker.DockerClient | None = None, relayed: bool | None = None) -> None:
        """`relayed`: whether the connections to a sandbox are carried by a relay (`harness.sandbox.containers.docker`)
        instead of sockets that are mounted; None: if the engine cannot mount them.
        """
        super().__init__(run, client)
        self._starts = threading.Semaphore(self._containers.starts_at_once)
        self._open: set[_TrialContainer] = set()
        self._relayed = not self._containers.mounts_sockets if relayed is None else relayed

    def start(self, spec: SandboxSpec, snapshot: Snapshot) -> Sandbox:
        layout = self._layouts.of(spec, snapshot)
        with engine_errors("a sandbox cannot be started"):
            cell = self._outage.outlast(lambda: self._started_container(spec, snapshot, layout))
            try:
                return self._restored(cell, spec, snapshot, layout)
            except BaseException:
                cell.remove()
                raise

    def _release_all(self) -> None:
        with self._lock:
            still_open = list(self._open)
        for cell in still_open:
            cell.discard()

    def _started_container(self, spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> "_TrialContainer":
        """A started container whose launcher waits for requests."""
        with self._starts, engine_errors("a sandbox cannot be started"):
            cell = self._new_cell()
            try:
                sockets = self._relay(cell, spec, snapshot) if self._relayed else mounted_sockets(cell.folder, spec)
                cell.start(self._containers.config(sockets, spec, snapshot, layout))
                cell.control = cell.listener.accept(_REPORTS_WITHIN_S, cell.why_dead)
            except BaseException:
                cell.remove()
                raise
        return cell

    def _relay(self, cell: "_TrialContainer", spec: SandboxSpec, snapshot: Snapshot) -> str:
        """Starts the relay of the container; its id."""
        control, gateway = cell.listener.path, spec.gateway_socket
        sockets = {CONTROL: control}
        arguments = [f"{CONTROL_FOLDER}/{control.name}"]
        if gateway is not None:
            sockets[GATEWAY] = gateway
            arguments.append(f"{GATEWAY_FOLDER}/{gateway.name}")
            for file in gateway.parent.iterdir():
                if file.is_file():  # the certificate of the run
                    arguments += [f"{GATEWAY_FOLDER}/{file.name}", file.read_text()]
        relay = cell.relay(sockets).start(self._containers.relay_config(spec, snapshot, arguments))
        self._relay_volumes |= {
            one["Name"] for one in self._client.api.inspect_container(relay)["Mounts"] if "Name" in one
        }
        return relay

    def _new_cell(self) -> "_TrialContainer":
        with self._lock:
            self._refuse_when_closed()
            cell = _TrialContainer(self._client, self._forget)
            self._open.add(cell)
        return cell

    def _restored(self, cell: "_TrialContainer", spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> Sandbox:
        assert cell.control is not None  # it has started
        sandbox = LaunchedSandbox(
            cell.control, self._containers.launcher_view(spec, layout), spec, cell.why_dead, cell.discard, cell.lost_by
        )
        sandbox.restore(snapshot, layout, gateway_ports(spec))
        return sandbox

    def _forget(self, cell: "_TrialContainer") -> None:
        with self._lock:
            self._open.discard(cell)


class _TrialContainer:
    """One container with its private folder, from before its creation until both are removed."""

    def __init__(self, client: docker.DockerClient, forget: Callable[["_TrialContainer"], None]) -> None:
        self._client = client
        self._container = RunningContainer(client)
        self._relay: RelayContainer | None = None
        self._forget = forget
        self.control: Control | None = None
        self.folder = private_folder()
        try:
            self.listener = ControlListener(self.folder)
        except OSError:
            remove_private_folder(self.folder)
            raise
        self.start = self._container.start
        self.why_dead = self._container.why_dead
        self.lost_by = self._container.lost_by

    def relay(self, sockets: Mapping[bytes, Path]) -> RelayContainer:
        """A relay that ends with the container."""
        self._relay = RelayContainer(self._client, sockets)
        return self._relay

    def discard(self) -> None:
        """Releases the container; it removes itself."""
        if self.control is not None:
            self.control.close()
        self.listener.close()
        if self._relay is not None:
            self._relay.close()
        remove_private_folder(self.folder)
        self._forget(self)

    def remove(self) -> None:
        """Removes a container whose launcher may never have run."""
        self.discard()
        self._container.remove()
        if self._relay is not None:
            self._relay.remove()
