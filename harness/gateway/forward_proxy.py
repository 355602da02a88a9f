"""The forward proxy of one session: which requests are for a declared host, and how they are answered."""

import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from aiohttp import web
from pydantic import JsonValue

from harness.cassettes.recordings import status_phrase
from harness.cassettes.redaction import Redactor
from harness.errors import OutOfTime
from harness.gateway.bodies import Delivery, error_body, read_json
from harness.gateway.exchange import CallFailure, CallResult, Exchange, ReceivedCall, broken, failed
from harness.gateway.upstream.host_calls import (
    Address,
    CallMemory,
    HostPort,
    Incoming,
    Sink,
    WebCall,
    WebSource,
    absolute_address,
    address_at,
    is_absolute,
    place_of,
    web_call,
)
from harness.gateway.upstream.http_tools import MAX_ANSWER_BYTES
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss
from harness.gateway.upstream.transport import Refusal
from harness.suite.hosts import HostSpec
from harness.traces import names
from harness.values import JsonObject, NotJson, parse_json

# What an agent received of a host's answer, as a step's observation.

_SHOWN_BYTES = 262_144
_BEGINNING = 1000


def content_of(answer: ToolAnswer) -> JsonValue:
    """Status and body: JSON as a value, text as text; other or too long bodies as type, size and digest."""
    attributes: JsonObject = {"status": answer.status}
    if "location" in answer.headers:
        attributes["location"] = answer.headers["location"]
    return attributes | ({"body": _body_as_json(answer.body)} if answer.body else {})


def failure_of(host: HostSpec, answer: ToolAnswer) -> CallFailure | None:
    """Why the answer is a failed call; the message depends on the answer only, so that live and replayed requests
    agree.
    """
    return broken(host.host, host.timeout_s, answer) or _failure_of_answer(host.host, answer)


def _failure_of_answer(name: str, answer: ToolAnswer) -> CallFailure | None:
    match answer.status // 100:
        case 4:
            message = f"{name} refused the request: {answer.status} {status_phrase(answer.status)}".rstrip()
            return CallFailure(type="tool_error", message=message, status=answer.status)
        case 5:
            return CallFailure(type="tool_unavailable", message=f"{name} failed with status {answer.status}")
        case _:
            return None


def _body_as_json(body: bytes) -> JsonValue:
    if len(body) > _SHOWN_BYTES:
        return {"bytes": len(body), "sha256": _sha256(body), "beginning": body[:_BEGINNING].decode("utf-8", "replace")}
    try:
        return parse_json(body)
    except NotJson:
        pass
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return {"bytes": len(body), "sha256": _sha256(body)}


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


_MOST_REFUSED = 100


@dataclass(kw_only=True)
class WebHandler:
    """Serves the requests of one trial; it may serve many connections at once."""

    exchange: Exchange
    source: WebSource
    allowed: Callable[[str], bool]
    """Whether the case allows the tool of that name."""
    refuses_writes: frozenset[str]
    """Tools of hosts whose state may not be changed in this mode."""
    kind: str = names.TOOL
    """The kind of span for a request."""
    refused_kind: str = names.REFUSED
    """The kind of span for a request to an undeclared host."""
    _number: int = field(default=0, init=False)
    _failure_of_answer: set[tuple[str, str]] = field(default_factory=set, init=False)

    async def answer(self, call: WebCall, sink: Sink) -> tuple[CallFailure | None, bool]:
        """Returns the reason of a failure, and whether the agent received a part of the host's answer."""
        ledger = self.exchange.ledger
        received = self._received_call(call, *ledger.take_thought())
        admitted, traced = ledger.admits_call()
        result, begun = await self._result(received, call, sink, None if admitted else self.exchange.limit())
        if traced:
            await self.exchange.trace(received, result)
        return result.failure, begun

    def _received_call(
        self, call: WebCall, thought: str | None = None, plan: tuple[str, ...] | None = None
    ) -> ReceivedCall:
        self._number += 1
        return ReceivedCall(
            name=call.key.tool,
            id=f"http_{self._number}",
            started_ns=time.monotonic_ns(),
            arguments=call.asked,
            kind=self.kind,
            effect=call.key.effect,
            thought=thought,
            plan=plan,
            size=len(call.body),
        )

    def refuse(self, host: str, reason: str) -> None:
        """Records an attempt to reach an undeclared host in the trace: it is not a step, and recorded once per host."""
        if (host, reason) in self._failure_of_answer or len(self._failure_of_answer) == _MOST_REFUSED:
            return
        self._failure_of_answer.add((host, reason))
        recorder, clean = self.exchange.recorder, self.exchange.redactor
        shown = clean.text(host)
        recorder.record(
            f"{self.refused_kind} http:{shown}",
            {
                names.STEP_KIND: self.refused_kind,
                names.TOOL_NAME: f"http:{shown}",
                names.ERROR_TYPE: "not_allowed",
                names.TOOL_ERROR_MESSAGE: clean.text(reason),
            },
            time.monotonic_ns(),
            failed=True,
        )

    def _refusal(self, call: WebCall) -> CallFailure | None:
        host: HostSpec = call.host
        if not self.exchange.ledger.within_budget(host.tool):
            return self.exchange.limit()
        if not self.allowed(host.tool):
            return CallFailure(type="not_allowed", message=f"the host {host.host!r} is not allowed here")
        if call.key.effect == "write" and host.tool in self.refuses_writes:
            return CallFailure(
                type="not_allowed",
                message=f"{call.method} would write to {host.host}, which is not declared `disposable: true`",
            )
        return None

    async def _result(
        self, received: ReceivedCall, call: WebCall, sink: Sink, failure: CallFailure | None
    ) -> tuple[CallResult, bool]:
        failure = failure or self._refusal(call)
        if failure is not None:
            return failed(failure), False
        return await self.exchange.followed(self._answer_of(call, sink), lambda: self.exchange.cut_short(received))

    async def _answer_of(self, call: WebCall, sink: Sink) -> tuple[CallResult, bool]:
        answer = await self.source.answer(call, sink)
        if isinstance(answer, ToolMiss):
            return self.exchange.missed(call.key, answer), False
        self.exchange.ledger.count("http", call.key, answer)
        failure = failure_of(call.host, answer)
        if failure is None:
            self.exchange.ledger.answered.add(call.key.tool)
        content = failure.content if failure is not None and answer.status == 0 else content_of(answer)
        result = CallResult(
            content=content, body=answer.body, failure=failure, tier=answer.tier, retried=answer.retried
        )
        return result, answer.status != 0


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
        self._memory = CallMemory(ignored=handler.exchange.ledger.ignored)

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
        try:
            call = web_call(host, address, incoming, self._redactor, self._memory)
        except OutOfTime as error:
            raise Refusal(503, "tool_unavailable", f"the request cannot be compared: {error}") from None
        failure, begun = await self._handler.answer(call, delivery)
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


# Requests of the trial's browser: it can reach the declared hosts, and no other part of the gateway.
#
# A page is not the agent: its scripts must not be able to call the agent's tools or send messages in its name.
# Therefore the browser has a socket of its own, which serves only the forward proxy. Its requests are traced, but are
# not steps.


@dataclass(kw_only=True)
class PageHandler(WebHandler):
    """Serves the requests of the trial's pages, under no limit of the agent's: they are not actions of the agent."""

    kind: str = names.PAGE
    refused_kind: str = names.PAGE

    async def answer(self, call: WebCall, sink: Sink) -> tuple[CallFailure | None, bool]:
        received = self._received_call(call)
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
