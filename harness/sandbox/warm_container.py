"""One warm container as the host sees it: its supervisor's connection, and the trial that is in it."""

import os
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker

from harness.sandbox.container import GATEWAY_FOLDER, place_size
from harness.sandbox.control import Listener, is_readable
from harness.sandbox.gateway_link import link_gateway
from harness.sandbox.inside.wire import Channel
from harness.sandbox.layout import Layout
from harness.sandbox.owner import private_folder, remove_private_folder
from harness.sandbox.provider import SandboxSpec
from harness.sandbox.running import RunningContainer

REPORTS_WITHIN_S = 60.0
_ENDS_WITHIN_S = 60.0
_SEEN_WITHIN_S = 10.0
_HOSTS = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.0.1\tsandbox\n"


class WarmContainer:
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
            self._host = listener.accept_connection(REPORTS_WITHIN_S, self._container.why_dead)
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
            link_gateway(spec.gateway_socket, folder / "gateway")
        self._running, self._ended = True, None
        self._channel().send(
            {
                "do": "trial",
                "control": f"{folder.name}/{self._listener.path.name}",
                "gateway": gateway,
                "gateway_at": GATEWAY_FOLDER,
                "places": [[place, place_size(place, spec, layout)] for place in layout.places],
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
            ended = not self._running or (self._look(_ENDS_WITHIN_S) and self._ended == "")
            return ended and not self._has_hung_up()
        except OSError:
            return False

    def close(self) -> None:
        """The supervisor ends when it sees this, and the container with it."""
        self.end()
        if self._host is not None:
            self._host.close()
        remove_private_folder(self.folder)

    def _has_hung_up(self) -> bool:
        """Of a supervisor that was asked nothing: it is gone, as after its engine was started again."""
        return self._host is None or is_readable(self._host, 0)

    def _look(self, within_s: float) -> bool:
        """Whether the trial's world is told to have ended."""
        assert self._host is not None  # there is no trial without
        try:
            if not is_readable(self._host, within_s):
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
