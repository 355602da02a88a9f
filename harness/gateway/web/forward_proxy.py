"""The forward proxy of one session: which requests are for a declared host, and how they are answered."""

from collections.abc import Iterable

from aiohttp import web

from harness.case import HostSpec
from harness.cassette import Redactor
from harness.gateway.delivery import Delivery
from harness.gateway.incoming import read_json
from harness.gateway.web.handler import WebHandler
from harness.upstream import (
    MAX_ANSWER_BYTES,
    Address,
    HostPort,
    Incoming,
    Refusal,
    absolute_address,
    address_at,
    is_absolute,
    place_of,
    web_call,
)

_MAX_BODY_BYTES = MAX_ANSWER_BYTES
_OURSELVES = frozenset({"127.0.0.1", "localhost", "[::1]"})
_REFUSED_METHODS = frozenset({"CONNECT", "TRACE"})
REASON_HEADER = "x-harness-refused"
"""The header of the gateway's own answer in place of a host's, with the reason."""


def reason_header(message: str) -> str:
    """A message as the value of a header."""
    return " ".join(message.split()).encode("ascii", "replace").decode()[:500]


class ForwardProxy:
    """Accepts requests to the declared hosts, and rejects all others."""

    def __init__(self, hosts: Iterable[HostSpec], handler: WebHandler, redactor: Redactor) -> None:
        self._hosts = {host.host: host for host in hosts}
        self._handler = handler
        self._redactor = redactor

    def knows(self, place: HostPort) -> bool:
        """Whether a host with this name and port is declared."""
        host = self._hosts.get(place.host)
        return host is not None and place.port in host.ports

    def serves(self, name: str) -> bool:
        """Whether a host with this name is declared, with any port."""
        return name in self._hosts

    def refuse(self, place: str, reason: str | None = None) -> Refusal:
        """Notes the agent's attempt and returns the answer to it."""
        known = ", ".join(sorted(self._hosts))
        problem = reason or f"there is no host {place[:200]!r} here; the hosts are: {known}"
        self._handler.refuse(place[:200], problem)
        return Refusal(403, "unknown_host", problem)

    def address(self, request: web.BaseRequest, bound: HostPort | None) -> Address | None:
        """The destination of the request; None for the gateway itself. `bound` is the destination of the connection.

        Raises Refusal for an undeclared host.
        """
        target = request.raw_path
        if is_absolute(target):
            address = absolute_address(target)
            if address.place.host in _OURSELVES and bound is None:
                return None
        else:
            place = self._requested_place(request.headers.get("host", ""), bound)
            if place is None:
                return None
            address = address_at(place, target)
        if bound is not None and not bound.covers(address.place):
            raise Refusal(421, "bad_request", f"this connection was made to {bound.host}, not {address.place.host}")
        if not self.knows(address.place):
            raise self.refuse(f"{address.place.host}:{address.place.port}")
        return address

    async def handle(self, request: web.BaseRequest, address: Address, *, is_open: bool) -> web.StreamResponse:
        """Answers one request; not `is_open`: the trial has ended. May raise Refusal."""
        if not is_open:
            raise Refusal(403, "limit_reached", "the trial has ended")
        if request.method in _REFUSED_METHODS:
            raise Refusal(405, "bad_request", f"{request.method} does not pass here")
        if "upgrade" in request.headers.get("connection", "").lower() and "upgrade" in request.headers:
            raise Refusal(501, "not_supported", "only plain requests and answers pass here, no WebSockets")
        body = await read_json(request, self._handler.exchange.large, _MAX_BODY_BYTES)
        host = self._hosts[address.place.host]
        incoming = Incoming(method=request.method, headers=request.headers, body=body)
        delivery = Delivery(request)
        failure, begun = await self._handler.answer(web_call(host, address, incoming, self._redactor), delivery)
        if begun and (failure is None or failure.type in {"tool_error", "tool_unavailable"}):
            return await delivery.end()
        if begun or failure is None:
            return delivery.cut()
        return web.Response(
            status=failure.http_status,
            headers=failure.http_headers | {REASON_HEADER: reason_header(failure.message)},
            body=failure.encoded(),
            content_type="application/json",
        )

    def _requested_place(self, header: str, bound: HostPort | None) -> HostPort | None:
        if bound is None:
            place = place_of(header, "http")
            return place if place is not None and place.host in self._hosts else None
        place = place_of(header, bound.scheme)
        if place is None:
            raise Refusal(400, "bad_request", "the Host header names no host")
        return place
