"""Sandboxes in warm containers: one container for many trials, each in namespaces of its own; started in milliseconds.

A container is started once for each kind of trial that runs at the same time (image, agent, limits). Its supervisor
gives every trial its own mounts, processes, network, names and writable places, all of which vanish with the trial.
One trial at a time is in a container, whose limits are so the trial's. What it does not promise as the provider of one
container per trial does: the supervisor holds CAP_SYS_ADMIN, so a bug in it or in the kernel's namespaces reaches the
host.
"""

import os
import select
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import docker

from harness.errors import SandboxError
from harness.sandbox.container import (
    AGENT_FOLDER,
    AGENT_UID,
    CODE_FOLDER,
    GATEWAY_FOLDER,
    GATEWAY_PORT,
    SEARCH_PATH,
    SHARED_MEMORY_MB,
    Containers,
    place_size,
)
from harness.sandbox.control import Listener
from harness.sandbox.docker import PROVIDER_LABEL
from harness.sandbox.engine import connect
from harness.sandbox.inside.wire import Channel
from harness.sandbox.launched import Inside, LaunchedSandbox, layout_for
from harness.sandbox.layout import Layout
from harness.sandbox.owner import owner_labels, private_folder, remove_private_folder
from harness.sandbox.provider import Places, Sandbox, SandboxSpec
from harness.sandbox.running import RunningContainer, compile_launcher, remove_labelled, told
from harness.sandbox.snapshot import Snapshot

_REPORTS_WITHIN_S = 60.0
_ENDS_WITHIN_S = 60.0
_SEEN_WITHIN_S = 10.0
_IDLE_MAX = 8
_HOSTS = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.0.1\tsandbox\n"


@dataclass(frozen=True)
class _Kind:
    """What trials must have in common to run in one container."""

    image: str | None
    agent_files: Path | None
    limits: tuple[float, ...]
    """Of the container: memory, processes, processors, disk."""
    places: tuple[str, ...]

    @classmethod
    def of(cls, spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> "_Kind":
        limits = spec.limits
        contained = (limits.memory_mb, limits.processes, limits.cpus, limits.disk_mb)
        return cls(spec.image or snapshot.image, spec.agent_files, contained, layout.places)


class WarmDockerSandboxProvider:
    """Implements `SandboxProvider`; safe to use from many threads."""

    name: Literal["docker-warm"] = "docker-warm"
    isolates = True

    def __init__(self, *, run: str, client: docker.DockerClient | None = None) -> None:
        self._client = client or connect()
        self._own_client = client is None
        self._id = uuid.uuid4().hex[:12]
        with told("the container engine cannot be used"):
            self._containers = Containers(self._client, {**owner_labels(run), PROVIDER_LABEL: self._id})
        self._lock = threading.Lock()
        self._closed = False
        self._all: set[_WarmContainer] = set()
        self._idle: dict[_Kind, list[_WarmContainer]] = {}
        compile_launcher()

    def start(self, spec: SandboxSpec, snapshot: Snapshot) -> Sandbox:
        layout = layout_for(spec, snapshot)
        kind = _Kind.of(spec, snapshot, layout)
        with told("a sandbox cannot be started"):
            warm = self._waiting(kind) or self._new(kind, spec, snapshot, layout)
            try:
                return self._started(warm, kind, spec, snapshot, layout)
            except BaseException:
                self._drop(warm)
                raise

    def close(self) -> None:
        with self._lock:
            self._closed = True
            everyone = list(self._all)
        for warm in everyone:
            self._drop(warm, gently=True)
        with told("sandboxes may be left"):
            remove_labelled(self._client, f"{PROVIDER_LABEL}={self._id}")
        if self._own_client:
            self._client.close()

    def _waiting(self, kind: _Kind) -> "_WarmContainer | None":
        while True:
            with self._lock:
                self._refuse_when_closed()
                waiting = self._idle.get(kind)
                warm = waiting.pop() if waiting else None
            if warm is None or warm.is_empty():
                return warm
            self._drop(warm)

    def _new(self, kind: _Kind, spec: SandboxSpec, snapshot: Snapshot, layout: Layout) -> "_WarmContainer":
        self._make_room(kind)
        with self._lock:
            self._refuse_when_closed()
            warm = _WarmContainer(self._client)
            self._all.add(warm)
        try:
            warm.start(self._containers.warm_config(warm.folder, spec, snapshot, layout))
        except BaseException:
            self._drop(warm)
            raise
        return warm

    def _make_room(self, kind: _Kind) -> None:
        """Of containers that wait for other kinds of trials, the longest unused one goes."""
        with self._lock:
            waiting = [(other, warm) for other, idle in self._idle.items() if other != kind for warm in idle]
            oldest = waiting[0] if len(waiting) >= _IDLE_MAX else None
            if oldest is not None:
                self._idle[oldest[0]].remove(oldest[1])
        if oldest is not None:
            self._drop(oldest[1], gently=True)

    def _started(
        self, warm: "_WarmContainer", kind: _Kind, spec: SandboxSpec, snapshot: Snapshot, layout: Layout
    ) -> Sandbox:
        listener = warm.begin(spec, layout)
        control = listener.accept(_REPORTS_WITHIN_S, warm.why_dead)
        warm.on_end(control.close)
        gateway = spec.gateway_socket
        places = Places(
            agent=AGENT_FOLDER,
            work="/work",
            gateway_url=None,
            gateway_socket=None if gateway is None else f"{GATEWAY_FOLDER}/{gateway.name}",
        )
        inside = Inside(
            places=places,
            temporary="/tmp",
            search_path=SEARCH_PATH,
            real={place: place for place in layout.places},
            uid=AGENT_UID,
        )
        sandbox = LaunchedSandbox(control, inside, spec, warm.why_dead, lambda: self._give_back(warm, kind))
        doors = () if spec.outside is None else spec.outside.ports
        sandbox.restore(snapshot, layout, (GATEWAY_PORT, *doors))
        return sandbox

    def _give_back(self, warm: "_WarmContainer", kind: _Kind) -> None:
        warm.end()
        with self._lock:
            if not self._closed and warm in self._all:
                self._idle.setdefault(kind, []).append(warm)

    def _drop(self, warm: "_WarmContainer", *, gently: bool = False) -> None:
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


class _WarmContainer:
    """One container with its supervisor. At most one trial is between `begin` and `end`."""

    def __init__(self, client: docker.DockerClient) -> None:
        self._container = RunningContainer(client)
        self._host: socket.socket | None = None
        self._trials = 0
        self._folder_of_trial: Path | None = None
        self._listener: Listener | None = None
        self._hang_up: Callable[[], None] | None = None
        self._running = False
        self._ended: str | None = None
        self.folder = private_folder()
        self.remove = self._container.remove

    def start(self, config: dict[str, Any]) -> None:
        listener = Listener(self.folder)
        try:
            self._container.start(config)
            self._host = listener.accept_connection(_REPORTS_WITHIN_S, self._container.why_dead)
        finally:
            listener.close()

    def begin(self, spec: SandboxSpec, layout: Layout) -> Listener:
        """Asks for a world; its launcher will report at the listener."""
        self._trials += 1
        folder = self._folder_of_trial = self.folder / str(self._trials)
        folder.mkdir(mode=0o755)
        self._listener = Listener(folder)
        gateway = None
        if spec.gateway_socket is not None:
            gateway = f"{folder.name}/gateway"
            _link_all(spec.gateway_socket.parent, folder / "gateway")
        agent = [] if spec.agent_files is None else [AGENT_FOLDER]
        self._running, self._ended = True, None
        self._channel().send(
            {
                "do": "trial",
                "control": f"{folder.name}/{self._listener.path.name}",
                "gateway": gateway,
                "gateway_at": GATEWAY_FOLDER,
                "shown": [f"{CODE_FOLDER}/harness/sandbox/inside", *agent],
                "places": [[place, place_size(place, spec, layout)] for place in layout.places],
                "shared_memory": f"size={SHARED_MEMORY_MB}m,mode=1777",
                "hosts": _hosts(spec),
                "low_ports": int(spec.outside is not None),
            }
        )
        return self._listener

    def on_end(self, hang_up: Callable[[], None]) -> None:
        """What makes the trial's launcher leave."""
        self._hang_up = hang_up

    def why_dead(self) -> str | None:
        """Of the trial's world, or of all of it."""
        if not self._ended and self._running:
            self._look(0.0)
        return self._ended or self._container.why_dead()

    def end(self) -> None:
        """Lets the trial's launcher go; nothing of the trial is needed any more."""
        if self._hang_up is not None:
            self._hang_up()
            self._hang_up = None
        if self._listener is not None:
            self._listener.close()
        if self._folder_of_trial is not None:
            shutil.rmtree(self._folder_of_trial, ignore_errors=True)

    def is_empty(self) -> bool:
        """Waits until nothing of the last trial is left; False: it does not end, or the container is of no use."""
        try:
            return not self._running or (self._look(_ENDS_WITHIN_S) and self._ended == "")
        except OSError:
            return False

    def close(self) -> None:
        """The supervisor ends when it sees this, and the container with it."""
        self.end()
        if self._host is not None:
            self._host.close()
        remove_private_folder(self.folder)

    def _look(self, within_s: float) -> bool:
        """Whether the trial's world is told to have ended."""
        assert self._host is not None  # there is no trial without
        try:
            if not select.select([self._host], [], [], within_s)[0]:
                return False
            told_now = Channel(self._host).receive()
        except (OSError, EOFError, ValueError):
            self._ended = self._death() or "its supervisor closed the connection"
            return False
        self._running = False
        self._ended = _reason(told_now["ended"], told_now["problem"])
        return True

    def _death(self) -> str | None:
        """The engine takes a moment to see that a container has ended."""
        deadline = time.monotonic() + _SEEN_WITHIN_S
        while (reason := self._container.why_dead()) is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return reason

    def _channel(self) -> Channel:
        assert self._host is not None  # there is no trial without
        return Channel(self._host)


def _reason(status: int, problem: bytes) -> str:
    """Empty: it ended as it should."""
    if problem:
        return f"its world could not be made: {problem.decode('utf-8', 'replace')}"
    return f"its launcher ended with status {os.waitstatus_to_exitcode(status)}" if status else ""


def _hosts(spec: SandboxSpec) -> str:
    names = () if spec.outside is None else spec.outside.names
    return _HOSTS + "".join(f"127.0.0.1\t{name}\n" for name in names)


def _link_all(source: Path, target: Path) -> None:
    """A socket is its inode: a second name of it in the folder that the container has leads to the same gateway."""
    target.mkdir(mode=0o755)
    for file in source.iterdir():
        os.link(file, target / file.name)
