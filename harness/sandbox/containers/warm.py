"""Sandboxes in warm containers: one container for many trials, each in namespaces of its own; started in milliseconds.

A container is started once for each kind of trial that runs at the same time (image, agent, limits, snapshot). Its
supervisor gives every trial its own mounts, processes, network, names and writable places, all of which vanish with the
trial; the snapshot files, which it keeps, are seen by each through an overlay.

Each container runs one trial at a time, so that its limits are the trial's. One guarantee of the provider with one
container per trial is missing: the supervisor has CAP_SYS_ADMIN, so a bug in it or in the kernel's namespaces reaches
the host.
"""

import threading
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import docker

from harness.errors import SandboxError, UsageError
from harness.sandbox.containers.container import Containers, container_limits
from harness.sandbox.containers.container_paths import gateway_ports, launcher_view
from harness.sandbox.containers.docker import PROVIDER_LABEL
from harness.sandbox.containers.outage import EngineOutage, remove_all_of
from harness.sandbox.containers.running import compile_launcher, engine_errors
from harness.sandbox.containers.warm_container import WarmContainer
from harness.sandbox.engine import connect
from harness.sandbox.launch.launched import LaunchedSandbox
from harness.sandbox.launch.layout import Layout
from harness.sandbox.launch.layouts import Layouts
from harness.sandbox.ownership import owner_labels
from harness.sandbox.provider import Sandbox, SandboxSpec
from harness.sandbox.state.snapshot import Snapshot

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


class WarmDockerSandboxProvider:
    """Implements `SandboxProvider`; safe to use from many threads."""

    name: Literal["docker-warm"] = "docker-warm"
    isolates = True

    def __init__(self, *, run: str, client: docker.DockerClient | None = None, runtime: str | None = None) -> None:
        """`runtime`: see `DockerSandboxProvider`. Raises UsageError where the engine mounts no sockets."""
        self._client = client or connect()
        self._own_client = client is None
        self._id = uuid.uuid4().hex[:12]
        with engine_errors("the container engine cannot be used"):
            self._containers = Containers(self._client, {**owner_labels(run), PROVIDER_LABEL: self._id}, runtime)
        if not self._containers.mounts_sockets:
            raise UsageError(
                "`docker-warm` needs sockets of this machine in its containers, which the engine's virtual machine"
                " does not have",
                remedy="--sandbox docker",
            )
        self._lock = threading.Condition()
        self._layouts = Layouts()
        self._closed = False
        self._starting = 0
        self._outage = EngineOutage(self._client)
        self._all: set[WarmContainer] = set()
        self._idle: dict[_Kind, list[WarmContainer]] = {}
        compile_launcher()

    def start(self, spec: SandboxSpec, snapshot: Snapshot) -> Sandbox:
        layout = self._layouts.of(spec, snapshot)
        plain = replace(spec, end_state_from=None)
        kept = self._layouts.of(plain, snapshot)
        kind = _Kind.of(plain, snapshot, kept)
        with engine_errors("a sandbox cannot be started"):
            warm = self._taken(kind) or self._new(kind, plain, snapshot, kept)
            try:
                return self._started(warm, kind, spec, snapshot, layout)
            except BaseException:
                self._drop(warm)
                raise

    def close(self) -> None:
        with self._lock:
            self._closed = True
            everyone = list(self._all)
            self._lock.notify_all()
        self._outage.close()
        for warm in everyone:
            self._drop(warm, gently=True)
        with engine_errors("sandboxes may be left"):
            remove_all_of(self._client, f"{PROVIDER_LABEL}={self._id}")
        if self._own_client:
            self._client.close()

    def _taken(self, kind: _Kind) -> WarmContainer | None:
        """A container that trials have returned; None where none is available and the caller has to start one.

        The number of simultaneous starts is limited; a waiting caller takes a container that is returned in the
        meantime.
        """
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._closed or self._idle.get(kind) or self._may_start())
                self._refuse_when_closed()
                waiting = self._idle.get(kind)
                if not waiting:
                    self._starting += 1
                    return None
                warm = waiting.pop(0)  # the container that had the most time to clean up
            if warm.is_empty():
                return warm
            self._drop(warm)

    def _may_start(self) -> bool:
        return self._starting < self._containers.starts_at_once

    def _new(self, kind: _Kind, spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> WarmContainer:
        try:
            self._make_room(kind)
            return self._outage.outlast(lambda: self._begun(spec, snapshot, layout))
        finally:
            with self._lock:
                self._starting -= 1
                self._lock.notify_all()

    def _begun(self, spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> WarmContainer:
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

    def _started(
        self, warm: WarmContainer, kind: _Kind, spec: SandboxSpec, snapshot: Snapshot, layout: Layout
    ) -> Sandbox:
        control = warm.begin(spec, layout)
        sandbox = LaunchedSandbox(
            control, launcher_view(spec, layout), spec, warm.why_dead, lambda: self._give_back(warm, kind)
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

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise SandboxError("the sandbox provider is closed")
