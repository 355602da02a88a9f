"""The Unix socket of one session, and the connections that come in through it."""

import asyncio
import resource
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp import web
from typing_extensions import override

from harness.gateway.bodies import BODY, Body, IntakeLimit, error_body

if TYPE_CHECKING:
    from harness.gateway.forward_proxy import ForwardProxy
    from harness.gateway.sniffer import Authority, ListenerContext
    from harness.gateway.upstream.host_calls import HostPort


CONNECTIONS_MAX = 256
"""The limit of connections per socket. Further connections wait in the kernel's queue, and in the sandbox, until one
ends.
"""
_BACKLOG = 1024
_DESCRIPTORS = 65_536
_LOOK_AGAIN_S = 0.02


def listening(path: Path) -> socket.socket:
    """A socket that any user with access to its folder may connect to; connections wait until an `Acceptor` serves it.

    Raises OSError if it cannot be created.
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
            task.add_done_callback(partial(self._on_started, connection))
        self._loop.remove_reader(self._socket)
        self._later = self._loop.call_later(_LOOK_AGAIN_S, self._loop.add_reader, self._socket, self._accept)

    def _has_room(self) -> bool:
        if len(self._open) + len(self._beginning) >= CONNECTIONS_MAX:
            self._open = {transport for transport in self._open if not _is_gone(transport)}
        return len(self._open) + len(self._beginning) < CONNECTIONS_MAX

    def _on_started(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
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


_SHUTDOWN_S = 1.0
_TURNS_TO_TAKE_UP = 2
"""Iterations of the loop: a request that arrived before the client closed is accepted within fewer. The limit is not a
time, because every trial whose agent keeps its connection open until the end waits for it.
"""


class Serving(Protocol):
    """Answers every incoming request."""

    async def handle(self, request: web.BaseRequest, bound: "HostPort | None" = None) -> web.StreamResponse: ...


class Listener:
    """Serves one session's routes on one socket; all methods belong to the gateway's own thread."""

    def __init__(
        self,
        routes: Serving,
        refuses: Callable[[], str | None],
        on_failure: Callable[[BaseException], None],
        hosts: "tuple[ForwardProxy, Authority] | None" = None,
    ) -> None:
        """`refuses` is asked for each request, and returns why it is refused. `hosts`: the forward proxy that is served
        too, and the certificate authority of its hosts.
        """
        self._routes = routes
        self._refuses = refuses
        self._hosts = hosts
        self._context: ListenerContext | None = None
        self._on_failure = on_failure
        self._http: web.Server | None = None
        self._acceptor: Acceptor | None = None
        self._intake = IntakeLimit()

    def serve(self, listening: socket.socket) -> None:
        """Starts accepting connections."""
        http = _Server(self._handle, self._on_failure)
        self._http = http
        serve: Callable[[], asyncio.Protocol] = http
        if self._hosts is not None:
            from harness.gateway.sniffer import ListenerContext, ProtocolSniffer  # most suites declare no host

            proxy, authority = self._hosts
            self._context = ListenerContext(
                proxy=proxy, authority=authority, serve=http.serve, on_failure=self._on_failure
            )
            serve = partial(ProtocolSniffer, self._context)
        self._acceptor = Acceptor(listening, serve)
        self._acceptor.begin()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, _ClientConnection)
        connection.answering = True
        body = request[BODY] = Body(self._intake)
        try:
            refused = self._refuses()
            if refused is not None:
                error = error_body("limit_reached", refused)
                return web.Response(status=403, body=error, content_type="application/json")
            response = await self._routes.handle(request, connection.bound)
            if "upgrade" in request.headers:
                # aiohttp may have lost what came behind it: the client is told to send that on a new connection.
                response.force_close()
                connection.close()
            return response
        finally:
            self._intake.buffered -= body.buffered
            self._intake.values -= body.values
            connection.answering = False

    async def close(self) -> None:
        """Ends every connection; safe to call twice."""
        acceptor, http = self._acceptor, self._http
        self._acceptor = self._http = None
        if acceptor is not None:
            acceptor.close()
        if self._context is not None:
            self._context.close()
        if http is not None:
            http.pre_shutdown()
            await http.shutdown(_SHUTDOWN_S)
            self._intake.close()


class _Server(web.Server):
    """Creates this module's connections in place of aiohttp's."""

    def __init__(self, handler: Any, on_failure: Callable[[BaseException], None]) -> None:
        super().__init__(handler)
        self._on_failure = on_failure

    def __call__(self) -> web.RequestHandler:
        return _ClientConnection(self, self._on_failure)

    def serve(self, bound: "HostPort | None") -> web.RequestHandler:
        """Serves a connection whose destination is a host."""
        return _ClientConnection(self, self._on_failure, bound)


class _ClientConnection(web.RequestHandler):
    """One client's connection: errors in JSON, and an answer also for a client that has closed its own half."""

    __slots__ = ("_on_failure", "answering", "bound")

    def __init__(
        self, server: web.Server, on_failure: Callable[[BaseException], None], bound: "HostPort | None" = None
    ) -> None:
        no_log: Any = None  # aiohttp accepts None here, but its annotations do not
        super().__init__(server, loop=asyncio.get_running_loop(), lingering_time=1.0, access_log=no_log)
        self._on_failure = on_failure
        self.answering = False
        self.bound = bound

    @override
    def eof_received(self) -> bool:  # type: ignore[override]  # aiohttp narrows what asyncio allows to return
        # asyncio would close at once and lose an answer that is under way, or about to be.
        self._close_in(_TURNS_TO_TAKE_UP)
        return self.transport is not None and self.transport.get_extra_info("sslcontext") is None

    @override
    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Logs nothing: failures of a handler are passed to `handle_error`, and the others are disconnects of
        clients.
        """

    def _close_in(self, turns: int) -> None:
        """After that: closes as soon as the answer in progress has been sent."""
        if turns > 0:
            asyncio.get_running_loop().call_soon(self._close_in, turns - 1)
        elif self.answering:
            self.close()
        elif self.transport is not None:
            self.transport.close()

    @override
    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Handles a request that aiohttp cannot parse as HTTP (400) or whose handler failed (500, a defect of the
        gateway).
        """
        error = exc or sys.exc_info()[1]
        if isinstance(error, ConnectionError):
            raise error
        if status == 400:
            body = error_body("bad_request", (message or "the request is not HTTP").splitlines()[0])
        else:
            self._on_failure(error or RuntimeError("a handler failed without an error"))
            body = error_body("harness_failed", "the gateway itself failed; this trial will not be scored")
        response = web.Response(status=status, body=body, content_type="application/json")
        response.force_close()
        return response
