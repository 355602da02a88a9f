"""Requests of the trial's browser: it can reach the declared hosts, and no other part of the gateway.

A page is not the agent: its scripts must not be able to call the agent's tools or send messages in its name. Therefore
the browser has a socket of its own, which serves only the forward proxy. Its requests are traced, but are not steps.
"""

from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from harness.gateway.failures import CallFailure
from harness.gateway.incoming import error_body
from harness.gateway.web.forward_proxy import REASON_HEADER, ForwardProxy, reason_header
from harness.gateway.web.handler import WebHandler
from harness.trace import names
from harness.upstream import HostPort, Refusal, Sink, WebCall


@dataclass(kw_only=True)
class PageHandler(WebHandler):
    """Serves the requests of the trial's pages, under no limit of the agent's: they are not actions of the agent."""

    kind: str = names.PAGE
    refused_kind: str = names.PAGE

    async def answer(self, call: WebCall, sink: Sink) -> tuple[CallFailure | None, bool]:
        received = self._received(call)
        done, begun = await self._result(received, call, sink, None)
        await self.exchange.trace(received, done)
        return done.failure, begun


class PageRoutes:
    """Answers requests on the browser's socket."""

    def __init__(self, proxy: ForwardProxy, is_open: Callable[[], bool]) -> None:
        self._proxy = proxy
        self._is_open = is_open

    async def handle(self, request: web.BaseRequest, bound: HostPort | None = None) -> web.StreamResponse:
        """One request; `bound`: the host that the connection was made to."""
        try:
            address = self._proxy.address(request, bound)
            if address is None:
                raise self._proxy.refuse(request.headers.get("host", "") or "the gateway")
            return await self._proxy.handle(request, address, is_open=self._is_open())
        except Refusal as refusal:
            return web.Response(
                status=refusal.status,
                headers={REASON_HEADER: reason_header(refusal.message)},
                body=error_body(refusal.kind, refusal.message),
                content_type="application/json",
            )
