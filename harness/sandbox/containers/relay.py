"""A trial's sockets for engines into which no socket of this machine can be mounted, as those in a virtual machine.

A container of its own, the relay, listens on sockets in volumes that the trial's container shares. The connections are
carried over its standard input and output, which are attached, and end at the sockets of this machine. The relay ends
when this process does.
"""

import os
import selectors
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker

from harness.errors import SandboxError
from harness.sandbox.containers.running import RunningContainer
from harness.sandbox.inside.multiplexer import READ_AT_ONCE, READY, Multiplexer

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
