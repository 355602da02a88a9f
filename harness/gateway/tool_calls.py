"""Handles every tool call of a trial: the call is looked up, admitted, validated, answered and traced."""

import json
import time
from dataclasses import dataclass, field, replace
from functools import partial

from pydantic import JsonValue

from harness.cassettes.keys import CallKey, complete_arguments, key_of_kept
from harness.errors import OutOfTime
from harness.gateway.exchange import (
    WORTH_A_THREAD_BYTES,
    CallFailure,
    CallResult,
    ReceivedCall,
    failed,
    result_of,
)
from harness.gateway.toolbox import Tool, Toolbox
from harness.gateway.trial import TrialContext
from harness.gateway.upstream.sources import ToolMiss, ToolRequest, TrialTools
from harness.gateway.user import HeardCall
from harness.suite.cases import StateProbe
from harness.suite.tools import ToolSpec, without_volatile
from harness.traces import names
from harness.values import JsonObject, NotJson, canonical_json, parse_json


@dataclass(frozen=True, kw_only=True)
class ToolReply:
    """The answer to the agent."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    failure: CallFailure | None = None
    """The failure in `body`, for endpoints that report it in another form."""


class ToolCallHandler:
    """Serves the tool calls of one trial; it may serve many connections at once."""

    def __init__(self, toolbox: Toolbox, trial: TrialContext, source: TrialTools) -> None:
        """`source` answers the calls of the tools that are offered in the trial."""
        self._toolbox = toolbox
        self._offered = toolbox.offered(trial.case)
        self.source = source
        self.exchange = trial.exchange
        self._redactor = trial.redactor
        self._number = 0
        self._threads = trial.threads

    def offered_specs(self) -> list[ToolSpec]:
        """The tools that the trial may call, in the suite's order."""
        return [tool.spec for name, tool in self._toolbox.tools.items() if name in self._offered]

    def cleaned(self, arguments: JsonObject) -> JsonObject:
        """The arguments as they are stored: without secrets."""
        stored: JsonObject = json.loads(canonical_json(self._redactor.value(arguments)))
        return stored

    async def finish(self) -> None:
        """Called when the agent has ended, before the probes are read."""

    def spec(self, name: str) -> ToolSpec | None:
        """The tool of that name, whether or not it is offered."""
        tool = self._toolbox.tools.get(name)
        return None if tool is None else tool.spec

    async def call(self, name: str, raw: bytes) -> ToolReply:
        """One call of the agent. Never raises for what the agent or the tool does."""
        exchange, ledger = self.exchange, self.exchange.ledger
        refusal, (arguments, unparsed, problem) = self._refusal_of(name), parsed_arguments(raw)
        thought, plan = ledger.take_thought()
        admitted, traced = ledger.admits_call()
        failure = refusal if admitted else exchange.limit()
        if failure is None and not ledger.within_budget(name):
            failure = exchange.limit()
        received = self._received_call(name, arguments, unparsed=unparsed, thought=thought, plan=plan, size=len(raw))
        result = await self._followed(received, failure or problem)
        if traced:
            ledger.hear_call(
                HeardCall(
                    name=received.name,
                    arguments=received.arguments,
                    effect=received.effect or "write",
                    failed=result.failure is not None,
                )
            )
        result = await exchange.given(received, result, traced=traced)
        if result.failure is not None:
            return ToolReply(
                status=result.failure.http_status,
                body=result.failure.encoded(),
                headers=result.failure.http_headers,
                failure=result.failure,
            )
        return ToolReply(status=200, body=result.body)

    def _received_call(
        self,
        name: str,
        arguments: JsonObject | None,
        *,
        unparsed: str | None = None,
        thought: str | None = None,
        plan: tuple[str, ...] | None = None,
        size: int = 0,
    ) -> ReceivedCall:
        self._number += 1
        tool = self._toolbox.tools.get(name)
        return ReceivedCall(
            name=self._redactor.everywhere(name) if tool is None else name,
            id=f"call_{self._number}",
            started_ns=time.monotonic_ns(),
            arguments=arguments,
            effect=None if tool is None else tool.spec.effect,
            unparsed=unparsed,
            thought=thought,
            plan=plan,
            size=size,
        )

    async def probe(self, probe: StateProbe) -> tuple[JsonValue, CallFailure | None]:
        """A read by the harness itself: it takes the same path as a call, but is not a step and counts towards no
        limit.
        """
        assert probe.tool is not None  # the other kinds are not calls
        received = replace(self._received_call(probe.tool, probe.arguments), kind=names.PROBE, probe=probe.name)
        result = await self._followed(received, None)
        await self.exchange.trace(received, result)
        return self._redactor.value(result.content), result.failure

    def _refusal_of(self, name: str) -> CallFailure | None:
        if name not in self._toolbox.tools:
            known = ", ".join(tool for tool in self._toolbox.tools if tool in self._offered) or "none"
            return CallFailure(type="unknown_tool", message=f"there is no tool {name!r}; the tools are: {known}")
        if name not in self._offered:
            return CallFailure(type="not_allowed", message=f"the tool {name!r} is not allowed here")
        return None

    async def _completed(self, received: ReceivedCall, failure: CallFailure | None) -> CallResult:
        if failure is None and received.arguments is not None:
            return await self._checked(self._toolbox.tools[received.name], received)
        assert failure is not None  # arguments are missing only if parsing them failed
        return failed(failure)

    async def _followed(self, received: ReceivedCall, failure: CallFailure | None) -> CallResult:
        answering = self._completed(received, failure)
        return await self.exchange.followed(answering, lambda: self.exchange.cut_short(received))

    async def _checked(self, tool: Tool, received: ReceivedCall) -> CallResult:
        assert received.arguments is not None
        arguments = received.arguments
        complete = complete_arguments(tool.spec, arguments)
        try:
            check = partial(_failure_and_key_arguments, tool, arguments, complete, self.exchange.ledger.ignored)
            in_thread = tool.may_take_long or received.size >= WORTH_A_THREAD_BYTES
            failure, kept = await self._threads.run("check", check) if in_thread else check()
        except OutOfTime as error:  # whether the agent made a mistake is unknown
            failure, kept = CallFailure(type="tool_unavailable", message=f"the call cannot be checked: {error}"), {}
        if failure is not None:
            return failed(failure)
        key = await self.exchange.large.done(received.size, lambda: key_of_kept(tool.spec, kept, self._redactor))
        if kept == arguments:  # no default filled in, nothing left out: the trace has the same text
            received.stored_arguments = key.arguments
        return await self._answered(tool, complete, key, received.probe)

    async def _answered(self, tool: Tool, complete: JsonObject, key: CallKey, probe: str | None) -> CallResult:
        request = ToolRequest(tool=tool.spec, arguments=complete, key=key, probe=probe is not None)
        answer = await self.source.call(request)
        if isinstance(answer, ToolMiss):
            return self.exchange.missed(key, answer, probe)
        result = result_of(tool.spec, answer)
        self.exchange.ledger.count("tool", key, answer)
        failure: CallFailure | None = None
        content: JsonValue = None
        read = b""
        if isinstance(result, CallFailure):
            failure, content = result, result.content
        else:
            content, read = result, answer.body
            if probe is None:
                self.exchange.ledger.answered.add(tool.spec.name)
        return CallResult(
            content=content,
            body=read or b"null",
            read_from=read or None,
            failure=failure,
            tier=answer.tier,
            fault=answer.fault,
            retried=answer.retried,
        )


def parsed_arguments(raw: bytes) -> tuple[JsonObject | None, str | None, CallFailure | None]:
    """The arguments, or the received text and a description of its problem."""
    try:
        value = parse_json(raw)
    except NotJson as error:
        problem = "the body is empty; send {} for no arguments" if not raw.strip() else f"not JSON: {error}"
    else:
        if isinstance(value, dict):
            return value, None, None
        problem = "a JSON object is expected"
    failure = CallFailure(type="unparsable_arguments", message=f"the arguments cannot be read: {problem}")
    return None, raw.decode("utf-8", "replace"), failure


def _failure_and_key_arguments(
    tool: Tool, arguments: JsonObject, complete: JsonObject, ignored: dict[str, int]
) -> tuple[CallFailure | None, JsonObject]:
    """Validates the arguments; returns the problem, and the arguments that the key is computed from. Raises
    OutOfTime.
    """
    problem = tool.problem_with(arguments, complete)
    if problem is None:
        return None, without_volatile(tool.spec, complete, ignored) if tool.spec.ignore else complete
    message = f"the arguments of {tool.spec.name} are not valid: {problem}"
    return CallFailure(type="invalid_arguments", message=message), {}
