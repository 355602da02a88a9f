"""One warm container as the host sees it: its supervisor's connection, and the trial that it runs."""

import os
import socket
import time
from typing import Any

import docker

from harness.errors import SandboxError
from harness.sandbox.containers.container_paths import GATEWAY_FOLDER, supervisor_view
from harness.sandbox.containers.gateway_link import link_gateway, unlink_gateway
from harness.sandbox.containers.places import place_size
from harness.sandbox.containers.running import RunningContainer
from harness.sandbox.inside.wire import Channel, send_with_fd
from harness.sandbox.launch.control import Control, ControlListener, is_readable
from harness.sandbox.launch.launched import LaunchedSandbox
from harness.sandbox.launch.layout import Layout
from harness.sandbox.ownership import private_folder, remove_private_folder
from harness.sandbox.provider import SandboxSpec

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

    def start(self, config: dict[str, Any], spec: SandboxSpec, layout: Layout) -> None:
        """Raises SandboxError, also where the data that is kept for all trials does not fit."""
        listener = ControlListener(self.folder)
        try:
            self._container.start(config)
            self._host = listener.accept_connection(_REPORTS_WITHIN_S, self._container.why_dead)
        finally:
            listener.close()
        if layout.entries:
            self._keep(spec, layout)
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

    def _keep(self, spec: SandboxSpec, layout: Layout) -> None:
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
            self._look(_TOLD_WITHIN_S)
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
            ended = not self._running or (self._look(_ENDS_WITHIN_S) and self._ended == "")
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

    def _look(self, within_s: float) -> bool:
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
