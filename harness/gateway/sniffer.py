"""Classifies a connection by its first bytes: a request for a tunnel, a TLS handshake, or HTTP.

Only one byte is peeked before the reader of the connection is chosen; it is left in the socket, because bytes that
were read cannot be returned to a TLS handshake.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import cast

import trustme
from typing_extensions import override

from harness.gateway.bodies import error_body
from harness.gateway.forward_proxy import ForwardProxy
from harness.gateway.upstream.host_calls import HostPort, place_of

_HANDSHAKE = b"\x16"
_CONNECT = b"CONNECT "
_HEAD_END = b"\r\n\r\n"
_MAX_HEAD = 16_384
_HEAD_WITHIN_S = 10.0
_REQUEST = re.compile(rb"^CONNECT (\S{1,300}) HTTP/1\.[01]\r\n")
_PHRASES = {200: "Connection established", 400: "Bad Request", 403: "Forbidden", 408: "Request Timeout"}

Serve = Callable[[HostPort | None], asyncio.Protocol]
"""Creates the HTTP protocol of a connection whose destination is that host and port; None: the gateway."""


@dataclass(kw_only=True)
class ListenerContext:
    """What the sniffers of one session share."""

    proxy: ForwardProxy
    authority: "Authority"
    serve: Serve
    on_failure: Callable[[BaseException], None]
    transports: set[asyncio.Transport] = field(default_factory=set)
    """Connections that have no handler yet."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def close(self) -> None:
        """Closes the connections that have no handler yet."""
        for task in tuple(self.tasks):
            task.cancel()
        for transport in tuple(self.transports):
            transport.abort()


class ProtocolSniffer(asyncio.Protocol):
    """Holds one connection until its protocol is known."""

    def __init__(self, context: ListenerContext) -> None:
        self._context = context
        self._transport: asyncio.Transport
        self._peeked: socket.socket | None = None
        self._place: HostPort | None = None
        self._head = b""
        self._deadline: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._context.transports.add(self._transport)
        self._wait_for_first_byte()

    @override
    def data_received(self, data: bytes) -> None:
        self._head += data
        if not self._head.startswith(_CONNECT[: len(self._head)]):
            self._serve(None, self._head)
        elif _HEAD_END in self._head:
            self._connect()
        elif len(self._head) > _MAX_HEAD:
            self._refuse(400, "bad_request", "the head of the request is too long")

    @override
    def eof_received(self) -> bool | None:
        return False

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._on_disconnect()

    def _wait_for_first_byte(self) -> None:
        """Waits for the first byte through a second descriptor, without reading it."""
        self._transport.pause_reading()
        known = self._transport.get_extra_info("socket")
        self._peeked = socket.socket(fileno=known.dup().detach())
        asyncio.get_running_loop().add_reader(self._peeked, self._dispatch)

    def _dispatch(self) -> None:
        assert self._peeked is not None
        try:
            first = self._peeked.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            first = b""
        self._stop_peeking()
        if first == b"":
            self._transport.abort()
        elif first == _HANDSHAKE:
            self._start(self._secure())
        elif self._place is None and first == _CONNECT[:1]:
            self._deadline = asyncio.get_running_loop().call_later(_HEAD_WITHIN_S, self._on_timeout)
            self._transport.resume_reading()
        else:
            self._serve(self._place, b"")
            self._transport.resume_reading()

    def _connect(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        found = _REQUEST.match(self._head)
        if found is None or not self._head.endswith(_HEAD_END):
            self._refuse(400, "bad_request", "no tunnel can be made of this request")
            return
        target = found[1].decode("latin-1")
        place = place_of(target, "https")
        if place is None or not self._context.proxy.knows(place):
            refusal = self._context.proxy.refuse(target)
            self._refuse(refusal.status, refusal.kind, refusal.message)
            return
        self._place = HostPort(scheme="http", host=place.host, port=place.port)
        self._transport.write(_http_response(200, b""))
        self._wait_for_first_byte()

    async def _secure(self) -> None:
        loop, context, waiting = asyncio.get_running_loop(), self._context, _PendingProtocol()
        chosen: list[str | None] = []
        try:
            secured = await loop.start_tls(
                self._transport,
                waiting,
                self._certificate(chosen),
                server_side=True,
                ssl_handshake_timeout=_HEAD_WITHIN_S,
                ssl_shutdown_timeout=1.0,
            )
        except OSError as error:  # TLS errors and timeouts are OSErrors, too
            self._on_failure(chosen, error)
            return
        finally:
            self._on_disconnect()
        if secured is None:
            return
        host, port = (chosen[-1] or "", 0) if self._place is None else (self._place.host, self._place.port)
        server = context.serve(HostPort(scheme="https", host=host, port=port))
        secured.set_protocol(server)
        server.connection_made(secured)
        waiting.give(server)

    def _certificate(self, chosen: list[str | None]) -> ssl.SSLContext:
        if self._place is not None:
            return self._context.authority.context(self._place.host)

        def choose(name: str | None) -> bool:
            chosen.append(name)
            return name is not None and self._context.proxy.serves(name)

        return self._context.authority.context_by_name(choose)

    def _on_failure(self, chosen: list[str | None], error: OSError) -> None:
        proxy = self._context.proxy
        if self._place is None and chosen and (chosen[-1] is None or not proxy.serves(chosen[-1])):
            proxy.refuse(chosen[-1] or "a host that was not named")
        else:
            host = self._place.host if self._place is not None else (chosen or [None])[-1]
            proxy.refuse(host or "TLS", f"no secure connection was made: {_reason(error)}")
        self._transport.abort()

    def _serve(self, place: HostPort | None, begun: bytes) -> None:
        server = self._context.serve(place)
        self._transport.set_protocol(server)
        server.connection_made(self._transport)
        self._on_disconnect()
        if begun:
            server.data_received(begun)

    def _refuse(self, status: int, kind: str, message: str) -> None:
        self._transport.write(_http_response(status, error_body(kind, message)))
        self._transport.close()

    def _on_timeout(self) -> None:
        self._refuse(408, "bad_request", f"the request did not arrive within {_HEAD_WITHIN_S:g} s")

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._context.tasks.add(task)
        task.add_done_callback(self._on_end)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        self._context.tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._context.on_failure(error)

    def _stop_peeking(self) -> None:
        if self._peeked is not None:
            asyncio.get_running_loop().remove_reader(self._peeked)
            self._peeked.close()
            self._peeked = None

    def _on_disconnect(self) -> None:
        self._stop_peeking()
        if self._deadline is not None:
            self._deadline.cancel()
        self._context.transports.discard(self._transport)


class _PendingProtocol(asyncio.Protocol):
    """Buffers decrypted data until a protocol serves the connection."""

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._on_end = self._lost = False

    @override
    def data_received(self, data: bytes) -> None:
        self._data.append(data)

    @override
    def eof_received(self) -> bool | None:
        self._on_end = True
        return False

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True

    def give(self, server: asyncio.Protocol) -> None:
        for data in self._data:
            server.data_received(data)
        if self._on_end:
            server.eof_received()
        if self._lost:
            server.connection_lost(None)


def _http_response(status: int, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status} {_PHRASES[status]}\r\n"
    if status != 200:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    return head.encode() + b"\r\n" + body


def _reason(error: OSError) -> str:
    reason = getattr(error, "reason", None)
    return str(reason or f"{type(error).__name__}: {error}")[:200]


# A certificate authority of one run: it signs certificates of the declared hosts; only this run's sandboxes trust it.


class Authority:
    """Certificates by host name; made when first needed, by the gateway's own thread."""

    def __init__(self) -> None:
        self._ca = trustme.CA(organization_name="trial-harness", organization_unit_name="certificates of one run")
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, in PEM."""
        return self._ca.cert_pem.bytes()

    def context(self, host: str) -> ssl.SSLContext:
        """The TLS context with the certificate of `host`."""
        if host not in self._contexts:
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._ca.issue_cert(host).configure_cert(made)
            self._contexts[host] = made
        return self._contexts[host]

    def context_by_name(self, choose: Callable[[str | None], bool]) -> ssl.SSLContext:
        """The context for a client that names its server only in the handshake; `choose` returns whether that name is
        served.
        """

        def named(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
            wanted = None if name is None else name.lower().rstrip(".")
            if not choose(wanted) or wanted is None:
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
            connection.context = self.context(wanted)
            return None

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = named
        return context
