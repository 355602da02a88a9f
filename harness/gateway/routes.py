"""The agent-facing HTTP of one session: its routes, and a JSON error for everything else."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from aiohttp import web
from pydantic import Field, TypeAdapter, ValidationError

from harness.documents import first_words
from harness.gateway.dialogue import Dialogue
from harness.gateway.exchange.trial import TrialContext
from harness.gateway.incoming import RouteHandler, check_head, error_body, read_json
from harness.gateway.ledger import Ledger
from harness.gateway.pacing import trickle
from harness.gateway.tool_calls import ToolCallHandler, ToolReply
from harness.gateway.user import User
from harness.strict_json import NotJson, parse_json
from harness.trace import UserReport, names
from harness.upstream import OutOfBudget, Refusal
from harness.values import Frozen

if TYPE_CHECKING:
    from harness.gateway.web.forward_proxy import ForwardProxy
    from harness.upstream import HostPort

_TOOLS = "/tools/"
_MAX_NAME = 200
_MOST_PLANNED = 1000
"""Items of a plan: each is compared with each call when the trial is scored."""
_NOTHING = ToolReply(status=204, body=b"")
T = TypeVar("T")


class _Saying(Frozen, extra="ignore"):
    message: str


class _Thought(Frozen, extra="ignore"):
    text: str
    plan: tuple[str, ...] | None = Field(default=None, max_length=_MOST_PLANNED)


_SAYING = TypeAdapter(_Saying)
_THOUGHT = TypeAdapter(_Thought)


@dataclass(frozen=True, kw_only=True)
class RouteContext:
    """The context that the routes of one session work with."""

    trial: TrialContext
    listing: bytes
    calls: ToolCallHandler
    route_handlers: tuple[RouteHandler, ...] = ()
    """Handlers that are tried in this order, before the routes of the agent-facing protocol."""
    user: User | None = None
    """Who plays the user; None: the case's script."""


class Routes:
    """Answers the requests of one session's agent."""

    def __init__(self, context: RouteContext, forward_proxy: "ForwardProxy | None" = None) -> None:
        self._context = context
        self._forward_proxy = forward_proxy
        self._dialogue = Dialogue(context.trial.case, context.trial.ledger, context.user)
        self.is_open = True

    def end(self) -> None:
        """Ends the trial: requests that wait for the user's next message receive none."""
        self.is_open = False
        self._dialogue.close()

    def unsaid(self) -> tuple[str, ...]:
        """Messages that the user did not send."""
        return self._dialogue.unsaid()

    def user_report(self) -> UserReport | None:
        """What the user did, once the trial has ended."""
        return self._dialogue.report()

    def waited_s(self) -> float:
        """Seconds that the agent has waited for the user so far; may be read from any thread."""
        return self._dialogue.waited_s

    async def handle(self, request: web.BaseRequest, bound: "HostPort | None" = None) -> web.StreamResponse:
        """Handles one request; every outcome is an answer in JSON. `bound`: the destination of the connection."""
        await _continue(request)
        try:
            check_head(request)
            if self._forward_proxy is not None:
                address = self._forward_proxy.address(request, bound)
                if address is not None:
                    return await self._forward_proxy.handle(request, address, is_open=self.is_open)
            for route_handler in self._context.route_handlers:
                if route_handler.opens(request.rel_url.raw_path):
                    return await route_handler.handle(request, is_open=self.is_open)
            reply = await self._reply(request)
        except Refusal as refusal:
            reply = ToolReply(status=refusal.status, body=error_body(refusal.kind, refusal.message))
        if reply.pace_s:
            return await trickle(request, reply)
        body = None if reply.status == 204 else reply.body
        return web.Response(
            status=reply.status, body=body, headers=reply.headers, content_type=None if body is None else _JSON
        )

    async def _reply(self, request: web.BaseRequest) -> ToolReply:
        path = request.rel_url.raw_path
        if not self.is_open:
            raise Refusal(403, "limit_reached", "the trial has ended")
        match request.method, path:
            case "GET", "/turn":
                return await self._turn(request)
            case "GET", "/tools":
                return ToolReply(status=200, body=self._context.listing)
            case "POST", "/thought":
                return await self._heard(request, self._thought)
            case "POST", "/reply":
                return await self._heard(request, self._reply_sent)
            case "POST", _ if path.startswith(_TOOLS):
                return await self._call(request, unquote(path[len(_TOOLS) :])[:_MAX_NAME])
            case _:
                raise Refusal(404, "no_such_route", f"there is no route {request.method[:20]} {path[:_MAX_NAME]}")

    async def _call(self, request: web.BaseRequest, name: str) -> ToolReply:
        raw = await read_json(request, self._context.trial.exchange.large)
        if not self.is_open:
            raise Refusal(403, "limit_reached", "the trial has ended")
        return await self._context.calls.call(name, raw)

    async def _turn(self, request: web.BaseRequest) -> ToolReply:
        try:
            message = await self._dialogue.next(lambda: request.transport is None or request.transport.is_closing())
        except OutOfBudget as spent:
            ledger = self._context.trial.ledger
            ledger.out_of_budget = ledger.limit_reached = str(spent)
            return _NOTHING
        if message is None:
            return _NOTHING
        message = self._context.trial.redactor.everywhere(message)
        case = self._context.trial.case
        self._context.trial.recorder.turn(message)
        turn = {"message": message, "system": case.system, "profile": case.user_profile}
        return ToolReply(status=200, body=json.dumps(turn).encode())

    async def _heard(self, request: web.BaseRequest, take: Callable[[bytes], Awaitable[ToolReply]]) -> ToolReply:
        """The reply to what the agent says; the end of the trial waits for it."""
        raw = await read_json(request, self._context.trial.exchange.large)
        if not self.is_open:
            raise Refusal(403, "limit_reached", "the trial has ended")
        return await self._context.trial.exchange.followed(take(raw))

    async def _thought(self, raw: bytes) -> ToolReply:
        thought = _shaped(raw, _THOUGHT)
        self._admit(raw)
        text, *plan = await self._cleaned(raw, thought.text, *(thought.plan or ()))
        self._context.trial.ledger.think(text, None if thought.plan is None else tuple(plan))
        return _NOTHING

    async def _reply_sent(self, raw: bytes) -> ToolReply:
        said = _shaped(raw, _SAYING).message
        self._admit(raw)
        (message,) = await self._cleaned(raw, said)
        self._context.trial.ledger.final_reply = message
        self._dialogue.hear(message)
        recorder, thought = self._context.trial.recorder, thought_attributes(self._context.trial.ledger)
        attributes = {names.STEP_KIND: names.REPLY, names.MESSAGE: message, **thought}
        recorder.record(names.REPLY, attributes, recorder.now_ns())
        return _NOTHING

    async def _cleaned(self, raw: bytes, *texts: str) -> list[str]:
        """Texts of a body without secrets."""
        clean = self._context.trial.redactor.everywhere
        return await self._context.trial.exchange.large.done(len(raw), lambda: list(map(clean, texts)))

    def _admit(self, raw: bytes) -> None:
        ledger = self._context.trial.ledger
        if not ledger.admits_saying(len(raw)):
            raise Refusal(403, "limit_reached", f"the limit of {ledger.limit_reached} is reached")


_JSON = "application/json"


def thought_attributes(ledger: Ledger) -> dict[str, str | None]:
    """The thoughts since the last step, as a span's attributes."""
    thought, plan = ledger.take_thought()
    return {names.THOUGHT: thought, names.PLAN: None if plan is None else json.dumps(plan, ensure_ascii=False)}


async def _continue(request: web.BaseRequest) -> None:
    """Clients that send `Expect: 100-continue` (curl, with a long body) would otherwise wait a second."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun


def _shaped(raw: bytes, shape: TypeAdapter[T]) -> T:
    try:
        return shape.validate_python(parse_json(raw))
    except NotJson as error:
        raise Refusal(400, "bad_request", f"the body is not JSON: {error}") from None
    except ValidationError as error:
        field, problem = first_words(error)
        raise Refusal(422, "bad_request", f"{field or 'body'}: {problem}") from None
