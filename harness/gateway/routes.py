"""The agent-facing HTTP of one session: its routes, and a JSON error for everything else."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

from aiohttp import web
from pydantic import Field, TypeAdapter, ValidationError

from harness.gateway.bodies import RouteHandler, error_body, read_json
from harness.gateway.budgets import OutOfBudget
from harness.gateway.ledger import Ledger
from harness.gateway.tool_calls import ToolCallHandler, ToolReply
from harness.gateway.trial import TrialContext
from harness.gateway.upstream.transport import Refusal
from harness.gateway.user import Cut, Heard, ScriptedUser, User
from harness.suite.problems import first_words
from harness.traces import names
from harness.traces.trial import UserReport
from harness.values import Frozen, NotJson, parse_json

if TYPE_CHECKING:
    from harness.gateway.forward_proxy import ForwardProxy
    from harness.gateway.upstream.host_calls import HostPort


class Dialogue:
    """The messages of one trial's user; belongs to the gateway's own thread.

    A message after the first is decided when the agent has replied to the one before: until then `/turn` waits.
    """

    def __init__(self, trial: TrialContext, user: User | None = None) -> None:
        """`user`: None selects the case's script."""
        conversation = trial.case.conversation
        self._opening = trial.case.task
        self._user = user or (None if conversation is None else ScriptedUser(conversation, trial.threads))
        self._most = 1 if conversation is None else conversation.max_turns
        if user is not None and conversation is None:
            self._most = MAX_TURNS
        self._ledger = trial.ledger
        self._messages: list[str] = []
        self._rounds: list[list[str]] = []
        self._called_before: list[int] = []
        self._turn = asyncio.Lock()
        self._replied = asyncio.Event()
        self._over = False
        self._ended_by_user = False
        self._waited_s = 0.0
        self._waits_since: float | None = None

    async def next(self, gone: Callable[[], bool]) -> str | None:
        """The user's next message; None if the conversation is over. `gone` returns whether the client has stopped
        waiting.
        """
        async with self._turn:
            if not self._messages:
                return self._redacted_message(self._opening)
            if self._user is None or len(self._messages) >= self._most:
                self._over = True
            if not self._over:
                await self._replied.wait()
            if self._over or gone() or self._user is None:
                return None
            self._replied.clear()
            message = await self._next_message(self._user)
            self._over = self._ended_by_user = message is None
            return None if message is None else self._redacted_message(message)

    async def _next_message(self, user: User) -> str | None:
        self._waits_since = began = time.monotonic()
        try:
            return await user.reply(self._heard_so_far(user))
        finally:
            self._waits_since = None
            self._waited_s += time.monotonic() - began

    @property
    def waited_s(self) -> float:
        """Seconds that the agent has waited for the user so far; may be read from any thread."""
        since, over = self._waits_since, self._waited_s
        return over if since is None else over + time.monotonic() - since

    def hear(self, reply: str) -> None:
        """Notes a message of the agent."""
        if not self._rounds:  # the agent speaks before it has asked for the opening
            self._rounds.append([])
            self._called_before.append(0)
        self._rounds[-1].append(reply)
        self._replied.set()

    def close(self) -> None:
        """Releases all waiting requests."""
        self._over = True
        self._replied.set()

    def unsaid(self) -> tuple[str, ...]:
        """See User.unsaid."""
        return () if self._user is None else self._user.unsaid()

    def report(self) -> UserReport | None:
        """See User.report; None if the trial has a task but no user."""
        if self._user is None:
            return None
        cut: Cut | None = None
        if not self._ended_by_user:
            cut = "turn_limit" if len(self._messages) >= self._most else "agent_left"
        report = self._user.report(self._heard_so_far(self._user), cut)
        return None if report is None else report.model_copy(update={"waited_s": round(self._waited_s, 3)})

    def _heard_so_far(self, user: User) -> Heard:
        sees, calls = user.sees_calls, self._ledger.heard_calls
        starts = [*self._called_before, len(calls)]
        return Heard(
            said=tuple(self._messages),
            replies=tuple(reply for replies in self._rounds for reply in replies),
            called=frozenset(self._ledger.answered) if sees else frozenset(),
            rounds=tuple(map(tuple, self._rounds)),
            calls=tuple(tuple(calls[a:b]) for a, b in pairwise(starts)) if sees else (),
        )

    def _redacted_message(self, message: str) -> str:
        if self._messages or not self._rounds:
            self._rounds.append([])
            self._called_before.append(len(self._ledger.heard_calls) if self._messages else 0)
        self._messages.append(message)
        return message


MAX_TURNS = 20
"""Used for a case without a conversation whose user was selected on the command line."""


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
    """Handlers that are tried in this order, before the routes of the agent-facing protocol but those of tools."""
    user: User | None = None
    """Who plays the user; None: the case's script."""


class Routes:
    """Answers the requests of one session's agent."""

    def __init__(self, context: RouteContext, forward_proxy: "ForwardProxy | None" = None) -> None:
        self._context = context
        self._forward_proxy = forward_proxy
        self.dialogue = Dialogue(context.trial, context.user)
        self.is_open = True

    def end(self) -> None:
        """Ends the trial: requests that wait for the user's next message receive none."""
        self.is_open = False
        self.dialogue.close()

    async def handle(self, request: web.BaseRequest, bound: "HostPort | None" = None) -> web.StreamResponse:
        """Handles one request; every outcome is an answer in JSON. `bound`: the destination of the connection."""
        await _continue(request)
        try:
            _check_head(request)
            if self._forward_proxy is not None:
                address = self._forward_proxy.address(request, bound)
                if address is not None:
                    return await self._forward_proxy.handle(request, address, is_open=self.is_open)
            path = request.rel_url.raw_path
            for route_handler in () if path.startswith(_TOOLS) else self._context.route_handlers:
                if route_handler.opens(path):
                    return await route_handler.handle(request, is_open=self.is_open)
            reply = await self._reply(request)
        except Refusal as refusal:
            reply = ToolReply(status=refusal.status, body=error_body(refusal.kind, refusal.message))
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
            message = await self.dialogue.next(lambda: request.transport is None or request.transport.is_closing())
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
        thought = _parsed_body(raw, _THOUGHT)
        text, *plan = await self._cleaned(raw, thought.text, *(thought.plan or ()))
        self._context.trial.ledger.think(text, None if thought.plan is None else tuple(plan))
        return _NOTHING

    async def _reply_sent(self, raw: bytes) -> ToolReply:
        recorder, started_ns = self._context.trial.recorder, time.monotonic_ns()
        said = _parsed_body(raw, _SAYING).message
        (message,) = await self._cleaned(raw, said)
        self._context.trial.ledger.final_reply = message
        self.dialogue.hear(message)
        thought = thought_attributes(self._context.trial.ledger)
        recorder.record(names.REPLY, {names.STEP_KIND: names.REPLY, names.MESSAGE: message, **thought}, started_ns)
        return _NOTHING

    async def _cleaned(self, raw: bytes, *texts: str) -> list[str]:
        """Texts of a body without secrets."""
        clean = self._context.trial.redactor.everywhere
        return await self._context.trial.exchange.large.done(len(raw), lambda: list(map(clean, texts)))


_JSON = "application/json"


def thought_attributes(ledger: Ledger) -> dict[str, str | None]:
    """The thoughts since the last step, as a span's attributes."""
    thought, plan = ledger.take_thought()
    return {names.THOUGHT: thought, names.PLAN: None if plan is None else json.dumps(plan, ensure_ascii=False)}


def _check_head(request: web.BaseRequest) -> None:
    """Raises Refusal for headers with bytes that are not UTF-8, because they could be passed on but not stored."""
    for name, value in request.headers.items():
        if name.isascii() and value.isascii():
            continue
        try:
            f"{name}{value}".encode()
        except UnicodeEncodeError:
            shown = name.encode("ascii", "backslashreplace").decode()[:100]
            raise Refusal(400, "bad_request", f"the header {shown} holds bytes that are not UTF-8") from None


async def _continue(request: web.BaseRequest) -> None:
    """Clients that send `Expect: 100-continue` (curl, with a long body) would otherwise wait a second."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun


def _parsed_body(raw: bytes, shape: TypeAdapter[T]) -> T:
    try:
        return shape.validate_python(parse_json(raw))
    except NotJson as error:
        raise Refusal(400, "bad_request", f"the body is not JSON: {error}") from None
    except ValidationError as error:
        field, problem = first_words(error)
        raise Refusal(422, "bad_request", f"{field or 'body'}: {problem}") from None
