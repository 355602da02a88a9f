"""Accepts the connections of one Unix socket, up to a limit, so that no trial exhausts the file descriptors of the
others.
"""

import asyncio
import resource
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

CONNECTIONS_MAX = 256
"""The limit of connections per socket. Further connections wait in the kernel's queue, and in the sandbox, until one
ends.
"""
_BACKLOG = 1024
_DESCRIPTORS = 65_536
_LOOK_AGAIN_S = 0.02


def listening(path: Path) -> socket.socket:
    """A socket that any user with access to its folder may connect to; connections wait until an `Acceptor` serves it.

    Raises OSError where it cannot be created.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(str(path))
        made.listen(_BACKLOG)
        path.chmod(0o666)  # the agent runs as a user of its own; only this socket's folder is shown to it
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made


class Acceptor:
    """Gives every connection a protocol; all methods belong to the gateway's own thread."""

    def __init__(self, listening: socket.socket, serve: Callable[[], asyncio.Protocol]) -> None:
        self._serve = serve
        self._loop = asyncio.get_running_loop()
        self._socket = listening
        self._open: set[asyncio.BaseTransport] = set()
        self._beginning: set[asyncio.Task[None]] = set()
        self._later: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Starts accepting connections; the caller must call `close` afterwards."""
        self._loop.add_reader(self._socket, self._accept)

    def close(self) -> None:
        """Accepts no more connections; open ones stay open."""
        if self._later is not None:
            self._later.cancel()
        self._loop.remove_reader(self._socket)
        self._socket.close()
        for task in self._beginning:
            task.cancel()

    def _accept(self) -> None:
        while self._has_room():
            try:
                connection, _ = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:  # no descriptors are left in the whole process
                break
            connection.setblocking(False)
            task = self._loop.create_task(self._begin(connection))
            self._beginning.add(task)
            task.add_done_callback(partial(self._started, connection))
        self._loop.remove_reader(self._socket)
        self._later = self._loop.call_later(_LOOK_AGAIN_S, self._loop.add_reader, self._socket, self._accept)

    def _has_room(self) -> bool:
        if len(self._open) + len(self._beginning) >= CONNECTIONS_MAX:
            self._open = {transport for transport in self._open if not _is_gone(transport)}
        return len(self._open) + len(self._beginning) < CONNECTIONS_MAX

    def _started(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._beginning.discard(task)
        if task.cancelled():  # possibly before it started
            connection.close()

    async def _begin(self, connection: socket.socket) -> None:
        try:
            transport, _ = await self._loop.connect_accepted_socket(self._serve, connection)
        except BaseException:
            connection.close()
            raise
        self._open.add(transport)


def _is_gone(transport: asyncio.BaseTransport) -> bool:
    """Whether the transport has released its descriptor: a closing transport keeps it while the client has not read the
    sent data.
    """
    return bool(transport.get_extra_info("socket").fileno() < 0)


def allow_descriptors() -> None:
    """Raises the limit of open files: many systems allow 1024 by default, which four busy trials would exhaust."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
