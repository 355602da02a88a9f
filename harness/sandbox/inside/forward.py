"""The gateway's Unix socket as a TCP port of the sandbox's loopback, for programs that know only URLs."""

from __future__ import annotations

import _socket
import errno
import time

from harness.sandbox.inside.loop import READ, WRITE, Loop

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    from collections.abc import Callable


_CHUNK = 1 << 16
_BACKLOG = 1024
_CONNECTIONS_MAX = 2048
_RETRY_S = 0.005
_DRAIN_S = 2.0
_FAREWELL_S = 0.2


class Forwarder:
    """Accepts on some ports and forwards every byte in both directions, each of which is closed separately."""

    def __init__(self, loop: Loop, path: bytes, ports: list[int]) -> None:
        self._loop = loop
        self._path = path
        self._connections: set[_Tunnel] = set()
        self._unconnected: list[_Tunnel] = []
        self._servers = [_listening(port) for port in ports]
        self.port: int = self._servers[0].getsockname()[1]
        self._listen()

    def tick(self) -> float:
        """Retries operations that would have blocked; returns the seconds until the next call at the latest."""
        if len(self._connections) < _CONNECTIONS_MAX:
            self._listen()
        waiting, self._unconnected = self._unconnected, []
        for connection in waiting:
            self._connect(connection)
        return _RETRY_S if self._unconnected else 3600.0

    def finish(self) -> None:
        """Called after the programs have ended: data that they sent still reaches the gateway, then everything is
        closed.
        """
        deadline = time.monotonic() + _DRAIN_S
        for server in self._servers:
            self._accept(server)
        while any(not c.up.shut for c in self._connections) and time.monotonic() < deadline:
            self._loop.turn(min(self.tick(), 0.05))
        deadline = time.monotonic() + _FAREWELL_S
        while self._connections and time.monotonic() < deadline:
            self._loop.turn(min(self.tick(), 0.01))
        for connection in list(self._connections):
            connection.close()
        self._unconnected.clear()

    def _listen(self) -> None:
        for server in self._servers:
            self._loop.watch(server.fileno(), READ, self._acceptor(server))

    def _acceptor(self, server: _socket.socket) -> Callable[[], None]:
        return lambda: self._accept(server)

    def _accept(self, server: _socket.socket) -> None:
        while len(self._connections) < _CONNECTIONS_MAX:
            try:
                fd, _ = server._accept()  # type: ignore[attr-defined]  # typeshed leaves it out
                client = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 0, fd)
                client.setblocking(False)
                upstream = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            except BlockingIOError:
                return
            except OSError:  # no descriptors left: retried when a connection has been closed
                break
            upstream.setblocking(False)
            client.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            connection = _Tunnel(self._loop, client, upstream, self._connections.discard)
            self._connections.add(connection)
            self._connect(connection)
        self._loop.forget(server.fileno())

    def _connect(self, connection: _Tunnel) -> None:
        try:
            connection.upstream.connect(self._path)
        except BlockingIOError:  # the gateway's backlog is full
            self._unconnected.append(connection)
        except OSError:
            connection.close()
        else:
            connection.pump()


def _listening(port: int) -> _socket.socket:
    server = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    server.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen(_BACKLOG)
    server.setblocking(False)
    return server


class _Flow:
    """One direction of a connection."""

    def __init__(self, source: _socket.socket, sink: _socket.socket) -> None:
        self.source = source
        self.sink = sink
        self.waiting = b""
        self.ended = False
        self.shut = False

    def move(self) -> None:
        """Moves as much as can be read and written without blocking, at most one chunk."""
        if not self.waiting and not self.ended:
            self._receive()
        if self.waiting:
            self._send()
        if self.ended and not self.waiting and not self.shut:
            self.shut = True
            try:
                self.sink.shutdown(_socket.SHUT_WR)
            except OSError as error:
                if error.errno != errno.ENOTCONN:
                    raise

    def _receive(self) -> None:
        try:
            self.waiting = self.source.recv(_CHUNK)
            self.ended = not self.waiting
        except BlockingIOError:
            pass
        except OSError:
            self.ended = True

    def _send(self) -> None:
        try:
            self.waiting = self.waiting[self.sink.send(self.waiting) :]
        except BlockingIOError:
            pass
        except OSError:  # the peer has closed; the other direction may still have data
            self.waiting = b""
            self.ended = self.shut = True


class _Tunnel:
    def __init__(
        self, loop: Loop, client: _socket.socket, upstream: _socket.socket, closed: Callable[[_Tunnel], None]
    ) -> None:
        self._loop = loop
        self._closed = closed
        self.client = client
        self.upstream = upstream
        self.up = _Flow(client, upstream)
        self.down = _Flow(upstream, client)

    def pump(self) -> None:
        try:
            self.up.move()
            self.down.move()
        except OSError:  # no error of a program's connection may end the launcher
            self.up.shut = self.down.shut = True
        if self.up.shut and self.down.shut:
            self.close()
            return
        self._watch(self.client, self.up, self.down)
        self._watch(self.upstream, self.down, self.up)

    def close(self) -> None:
        for end in (self.client, self.upstream):
            self._loop.forget(end.fileno())
            end.close()
        self.up.shut = self.down.shut = True
        self._closed(self)

    def _watch(self, end: _socket.socket, source_of: _Flow, sink_of: _Flow) -> None:
        reads = READ if not source_of.ended and not source_of.waiting else 0
        writes = WRITE if sink_of.waiting else 0
        self._loop.watch(end.fileno(), reads | writes, self.pump)
