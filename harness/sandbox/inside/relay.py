"""The program of a relay: a container that shares its sockets' folders with a sandbox, and has no other purpose.

The stream is its standard input and output. The relay ends when its input does, and closes every connection with that.
"""

from __future__ import annotations

import _socket
import posix

from harness.sandbox.inside.loop import READ, WRITE, Loop
from harness.sandbox.inside.multiplexer import CONTROL, GATEWAY, READ_AT_ONCE, READY, Multiplexer

TYPE_CHECKING = False  # this starts many times, and does without `typing`


if TYPE_CHECKING:
    from collections.abc import Callable


_STDIN = 0
_STDOUT = 1
_BACKLOG = 1024
_CONNECTIONS_MAX = 2048


class Relay:
    """Accepts one connection to the control socket and any number to the gateway's."""

    def __init__(self, control: str, gateway: str | None) -> None:
        self._loop = Loop()
        self._mux = Multiplexer(self._watch, _STDOUT, lambda *_: None)
        self._control_path = control
        self._control = _listening(control)
        self._gateway = None if gateway is None else _listening(gateway)
        self._ended = False

    def serve(self) -> None:
        """Forwards until standard input ends."""
        for fd in (_STDIN, _STDOUT):
            posix.set_blocking(fd, False)
        self._loop.watch(_STDIN, READ, self._receive)
        self._loop.watch(self._control.fileno(), READ, self._accept_control)
        self._mux.open(READY)
        while not self._ended:
            self._mux.flush()
            self._loop.watch(_STDOUT, WRITE if self._mux.has_unsent else 0, self._mux.flush)
            if self._gateway is not None:
                room = self._mux.count < _CONNECTIONS_MAX
                self._loop.watch(self._gateway.fileno(), READ if room else 0, self._accept_gateway)
            self._loop.turn(3600.0)

    def _watch(self, fd: int, reads: bool, writes: bool, handler: Callable[[], None]) -> None:
        self._loop.watch(fd, READ * reads | WRITE * writes, handler)

    def _receive(self) -> None:
        try:
            data = posix.read(_STDIN, READ_AT_ONCE)
        except BlockingIOError:
            return
        self._ended = not data
        self._mux.receive(data)

    def _accept_control(self) -> None:
        """The launcher is the first to connect; no other program finds the socket."""
        connection = _accepted(self._control)
        if connection is not None:
            self._loop.forget(self._control.fileno())
            self._control.close()
            posix.unlink(self._control_path)
            self._mux.open(CONTROL, connection, after_others=True)

    def _accept_gateway(self) -> None:
        assert self._gateway is not None  # it is watched
        while self._mux.count < _CONNECTIONS_MAX and (connection := _accepted(self._gateway)) is not None:
            self._mux.open(GATEWAY, connection)


def _listening(path: str) -> _socket.socket:
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    server.bind(path)
    posix.chmod(path, 0o666)
    server.listen(_BACKLOG)
    server.setblocking(False)
    return server


def _accepted(server: _socket.socket) -> _socket.socket | None:
    try:
        fd, _ = server._accept()  # type: ignore[attr-defined]  # typeshed leaves it out
    except OSError:  # none is waiting, or no descriptors are left: tried again
        return None
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, fd)
    connection.setblocking(False)
    return connection


def main(control: str, gateway: str = "", *files: str) -> None:
    """Serves the two sockets (the second if it is named); `files` are paths and contents to write before."""
    for path, content in zip(files[::2], files[1::2], strict=True):
        fd = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL, 0o644)
        posix.write(fd, content.encode())
        posix.close(fd)
    Relay(control, gateway or None).serve()
