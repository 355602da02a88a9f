"""Sandboxes in warm containers: one container for many trials, each in namespaces of its own; started in milliseconds.

A container is started once for each kind of trial that runs at the same time (image, agent, limits, snapshot). Its
supervisor gives every trial its own mounts, processes, network, names and writable places, all of which vanish with the
trial; the snapshot files, which it keeps, are seen by each through an overlay.

Each container runs one trial at a time, so that its limits are the trial's. One guarantee of the provider with one
container per trial is missing: the supervisor has CAP_SYS_ADMIN, so a bug in it or in the kernel's namespaces reaches
the host.
"""

import os
import socket
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import docker

from harness.errors import SandboxError, UsageError
from harness.sandbox.containers.configuration import (
    GATEWAY_FOLDER,
    container_limits,
    gateway_ports,
    launcher_view,
    place_size,
    supervisor_view,
)
from harness.sandbox.containers.docker import ContainerProvider
from harness.sandbox.containers.running import (
    RunningContainer,
    engine_errors,
    link_gateway,
    unlink_gateway,
)
from harness.sandbox.control import Control, ControlListener, is_readable
from harness.sandbox.inside.wire import Channel, send_with_fd
from harness.sandbox.launched import LaunchedSandbox
from harness.sandbox.layout import Layout
from harness.sandbox.ownership import private_folder, remove_private_folder
from harness.sandbox.provider import Sandbox, SandboxSpec
from harness.sandbox.snapshot import Snapshot

_REPORTS_WITHIN_S = 60.0
_ENDS_WITHIN_S = 60.0
_TOLD_WITHIN_S = 1.0
_KEPT_WITHIN_S = 60.0
_SEEN_WITHIN_S = 10.0
_HOSTS = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.0.1\tsandbox\n"


class WarmContainer:
    """One container with its supervisor. At most one trial is between `begin` and `end`."""

    def __init__(self, client: docker.DockerClient) -> None:
        self._container = RunningContainer(client)
        self._host: socket.socket | None = None
        self._control: Control | None = None
        self._running = False
        self._ended: str | None = None
        self.folder = private_folder()
        self._gateway = self.folder / "gateway"
        self._created = False
        self.remove = self._container.remove
        self.lost_by = self._container.lost_by

    def start(self, config: dict[str, Any], spec: SandboxSpec, layout: Layout) -> None:
        """Raises SandboxError, also if the data that is kept for all trials does not fit."""
        listener = ControlListener(self.folder)
        try:
            self._container.start(config)
            self._host = listener.accept_connection(_REPORTS_WITHIN_S, self._container.why_dead)
        finally:
            listener.close()
        if layout.entries:
            self._store_shared_data(spec, layout)
        else:
            Channel(self._host).send({"do": "keep", "places": []})

    def begin(self, spec: SandboxSpec, layout: Layout) -> Control:
        """Requests an environment; its launcher is at the other end of the returned connection.

        That end is passed as a descriptor, and has no name through which another process could connect. Nothing is
        created in a file system: ext4 checks every block that was deleted in the last seconds before it creates a new
        entry.
        """
        if spec.gateway_socket is not None:
            link_gateway(spec.gateway_socket, self._gateway)
        self._running, self._ended = True, None
        self._container.began = int(time.time())
        request = {
            "do": "trial",
            "gateway": None if spec.gateway_socket is None else self._gateway.name,
            "gateway_at": GATEWAY_FOLDER,
            "kept": int(self.has_created(spec)),
            "places": [[place, place_size(place, spec, layout)] for place in layout.places],
            "hosts": _hosts(spec),
            "low_ports": int(spec.outside is not None),
        }
        self._control = self._hand_over(request)
        return self._control

    def _store_shared_data(self, spec: SandboxSpec, layout: Layout) -> None:
        inside = supervisor_view(spec, layout)
        places = [[place, inside.real[place], place_size(place, spec, layout)] for place in layout.places]
        control = self._hand_over({"do": "keep", "places": places})
        keeper = LaunchedSandbox(control, inside, spec, self._container.why_dead, lambda: None)
        try:
            keeper.create_files(layout)
        finally:
            keeper.close()
        try:
            if not is_readable(self._connection(), _KEPT_WITHIN_S):
                raise SandboxError("the sandbox did not start: its snapshot files were not written in time")
            self._created = bool(Channel(self._connection()).receive()["kept"])
        except (EOFError, ValueError):
            raise SandboxError(f"the sandbox did not start: {self._death() or 'its supervisor is gone'}") from None

    def _hand_over(self, request: dict[str, Any]) -> Control:
        """Sends the request together with the other end of the returned connection."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        control = Control(here)
        try:
            with there:
                send_with_fd(self._connection(), request, there.fileno())
        except BaseException:
            control.close()
            raise
        return control

    def has_created(self, spec: SandboxSpec) -> bool:
        """Whether the snapshot files are already restored for a trial; not for one that starts from another trial's end
        state.
        """
        return self._created and spec.end_state_from is None

    def why_dead(self) -> str | None:
        """The reason why the trial's environment, or the whole container, has ended; requested when the connection is
        lost, a moment before they end.
        """
        if not self._ended and self._running:
            self._has_ended(_TOLD_WITHIN_S)
        return self._ended or self._container.why_dead()

    def end(self) -> None:
        """Ends the trial: its launcher exits when its connection closes; no result is awaited."""
        if self._control is not None:
            self._control.close()
            self._control = None
        unlink_gateway(self._gateway)

    def is_empty(self) -> bool:
        """Waits until all processes of the last trial have ended; False: they do not end, or the container is
        unusable.
        """
        try:
            ended = not self._running or (self._has_ended(_ENDS_WITHIN_S) and self._ended == "")
            return ended and not self._has_hung_up()
        except OSError:
            return False

    def close(self) -> None:
        """Closes the connection, upon which the supervisor and its container end."""
        self.end()
        if self._host is not None:
            self._host.close()
        remove_private_folder(self.folder)

    def _has_hung_up(self) -> bool:
        """Whether a supervisor without a pending request has closed the connection, as after a restart of the
        engine.
        """
        return self._host is None or is_readable(self._host, 0)

    def _has_ended(self, within_s: float) -> bool:
        """Whether the supervisor has reported the end of the trial's environment."""
        host = self._connection()
        try:
            if not is_readable(host, within_s):
                return False
            last_message = Channel(host).receive()
        except (OSError, EOFError, ValueError):
            self._ended = self._death() or "its supervisor closed the connection"
            return False
        self._running = False
        self._ended = _reason(last_message["ended"], last_message["problem"])
        return True

    def _death(self) -> str | None:
        """Why the container ended; waits, because the engine reports its end with a delay."""
        deadline = time.monotonic() + _SEEN_WITHIN_S
        while (reason := self._container.why_dead()) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return reason

    def _connection(self) -> socket.socket:
        assert self._host is not None  # a trial always has one
        return self._host


def _reason(status: int, problem: bytes) -> str:
    """Why the environment ended; empty: it ended normally."""
    if problem:
        return f"its world could not be made: {problem.decode('utf-8', 'replace')}"
    return f"its launcher ended with status {os.waitstatus_to_exitcode(status)}" if status else ""


def _hosts(spec: SandboxSpec) -> str:
    names = () if spec.outside is None else spec.outside.names
    return _HOSTS + "".join(f"127.0.0.1\t{name}\n" for name in names)


_IDLE_MAX = 8


@dataclass(frozen=True)
class _Kind:
    """The properties that trials must share to run in one container."""

    image: str | None
    agent_files: Path | None
    limits: tuple[float, ...]
    places: tuple[str, ...]
    kept: Layout | None
    """The identical object: one layout is created per snapshot."""

    @classmethod
    def of(cls, spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> "_Kind":
        kept = layout if layout.entries else None
        return cls(spec.image or snapshot.image, spec.agent_files, container_limits(spec.limits), layout.places, kept)


class WarmDockerSandboxProvider(ContainerProvider):
    """Implements `SandboxProvider`; safe to use from many threads."""

    name: Literal["docker-warm"] = "docker-warm"

    def __init__(self, *, run: str, client: docker.DockerClient | None = None) -> None:
        """Raises UsageError if the engine mounts no sockets."""
        super().__init__(run, client)
        if not self._containers.mounts_sockets:
            raise UsageError(
                "`docker-warm` needs sockets of this machine in its containers, which the engine's virtual machine"
                " does not have",
                remedy="--sandbox docker",
            )
        self._starting = 0
        self._all: set[WarmContainer] = set()
        self._idle: dict[_Kind, list[WarmContainer]] = {}

    def start(self, spec: SandboxSpec, snapshot: Snapshot) -> Sandbox:
        layout = self._layouts.of(spec, snapshot)
        plain = replace(spec, end_state_from=None)
        kept = self._layouts.of(plain, snapshot)
        kind = _Kind.of(plain, snapshot, kept)
        with engine_errors("a sandbox cannot be started"):
            warm = self._take_returned(kind) or self._new(kind, plain, snapshot, kept)
            try:
                return self._started_sandbox(warm, kind, spec, snapshot, layout)
            except BaseException:
                self._drop(warm)
                raise

    def _release_all(self) -> None:
        with self._lock:
            everyone = list(self._all)
        for warm in everyone:
            self._drop(warm, gently=True)

    def _take_returned(self, kind: _Kind) -> WarmContainer | None:
        """A container that trials have returned; None if none is available and the caller has to start one.

        The number of simultaneous starts is limited; a waiting caller takes a container that is returned in the
        meantime.
        """
        while True:
            with self._lock:
                self._lock.wait_for(
                    lambda: self._closed or self._idle.get(kind) or self._starting < self._containers.starts_at_once
                )
                self._refuse_when_closed()
                waiting = self._idle.get(kind)
                if not waiting:
                    self._starting += 1
                    return None
                warm = waiting.pop(0)  # the container that had the most time to clean up
            if warm.is_empty():
                return warm
            self._drop(warm)

    def _new(self, kind: _Kind, spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> WarmContainer:
        try:
            self._make_room(kind)
            return self._outage.outlast(lambda: self._started_container(spec, snapshot, layout))
        finally:
            with self._lock:
                self._starting -= 1
                self._lock.notify_all()

    def _started_container(self, spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> WarmContainer:
        with self._lock:
            self._refuse_when_closed()
            warm = WarmContainer(self._client)
            self._all.add(warm)
        try:
            warm.start(self._containers.warm_config(warm.folder, spec, snapshot, layout), spec, layout)
        except BaseException:
            self._drop(warm)
            raise
        return warm

    def _make_room(self, kind: _Kind) -> None:
        """Removes the container that has been unused for longest among those for other kinds of trials."""
        with self._lock:
            waiting = [(other, warm) for other, idle in self._idle.items() if other != kind for warm in idle]
            oldest = waiting[0] if len(waiting) >= _IDLE_MAX else None
            if oldest is not None:
                self._idle[oldest[0]].remove(oldest[1])
        if oldest is not None:
            self._drop(oldest[1], gently=True)

    def _started_sandbox(
        self, warm: WarmContainer, kind: _Kind, spec: SandboxSpec, snapshot: Snapshot, layout: Layout
    ) -> Sandbox:
        control = warm.begin(spec, layout)
        sandbox = LaunchedSandbox(
            control,
            launcher_view(spec, layout),
            spec,
            warm.why_dead,
            lambda: self._give_back(warm, kind),
            warm.lost_by,
        )
        sandbox.restore(snapshot, layout, gateway_ports(spec), created=warm.has_created(spec))
        return sandbox

    def _give_back(self, warm: WarmContainer, kind: _Kind) -> None:
        warm.end()
        with self._lock:
            if not self._closed and warm in self._all:
                self._idle.setdefault(kind, []).append(warm)
                self._lock.notify_all()

    def _drop(self, warm: WarmContainer, *, gently: bool = False) -> None:
        with self._lock:
            self._all.discard(warm)
            for idle in self._idle.values():
                if warm in idle:
                    idle.remove(warm)
        warm.close()
        if not gently:
            warm.remove()
