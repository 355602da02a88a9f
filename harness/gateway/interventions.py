"""Interventions between the agent and its tools: calls are edited, and answers of a parent trial are injected again.

Edits apply before every other stage of a call, so that the trace shows the trial as it would have been with
the edited call. Injected calls are checked: the first call that differs from the parent's ends the trial.
"""

import json
import re
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast, get_args

from pydantic import JsonValue

from harness.cassettes.keys import CallKey, complete_arguments
from harness.errors import ReplayDiverged
from harness.gateway.exchange import CallFailure, CallResult, result_of
from harness.gateway.tool_calls import ToolCallHandler, ToolReply, parsed_arguments
from harness.gateway.toolbox import Tool, Toolbox
from harness.gateway.trial import TrialContext
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss, ToolRequest, TrialTools
from harness.suite.interventions import CallEdit, FedCall, Intervention, Invocation, TrialVariant
from harness.traces.trajectory import ToolErrorType
from harness.values import JsonObject, canonical_json

if TYPE_CHECKING:
    from harness.cassettes.normalisation import Normalisation

_STATUS = re.compile(r"refused the call: (\d{3})")
_SHOWN = 300
_NO_SOURCE = frozenset({"unknown_tool", "not_allowed", "unparsable_arguments", "invalid_arguments", "limit_reached"})
"""Errors that the gateway itself produces: they recur without being injected."""


@dataclass(frozen=True, kw_only=True)
class _InjectedAnswer:
    """The answer injected into the call in progress."""

    content: object
    failure: CallFailure | None
    forwarded: bool
    """Whether the tool is called nevertheless, so that its state changes as in the parent trial."""
    fed: bool
    """Whether the answer was taken from the parent trial."""


_INJECTED: ContextVar[_InjectedAnswer | None] = ContextVar("given", default=None)


class InterveningCalls(ToolCallHandler):
    """The tool calls of a variant."""

    def __init__(self, toolbox: Toolbox, trial: TrialContext, source: TrialTools) -> None:
        variant = trial.request.variant or TrialVariant()
        self._fed_values = None
        if trial.fed_values is not None:
            self._fed_values = FedValueSource(inner=source, trial=trial, values=trial.fed_values)
        super().__init__(toolbox, trial, self._fed_values or source)
        self._fed = list(variant.fed)
        self._made = 0
        self._layers = [_Layer(item) for item in variant.interventions]

    async def call(self, name: str, raw: bytes) -> ToolReply:
        """One call of the agent. Raises ReplayDiverged if it is not the call that the parent made here."""
        return await self._through(0, name, raw)

    async def finish(self) -> None:
        """Makes the calls that follow the agent's last one; raises ReplayDiverged if injected calls were not
        made.
        """
        if self._made < len(self._fed):
            missing = self._fed[self._made]
            raise ReplayDiverged(missing.step, _call_text(missing), "the agent ended")
        for depth, layer in enumerate(self._layers):
            for item in layer.intervention.at_end:
                await self._through(depth + 1, item.tool, _raw(item))

    async def _through(self, depth: int, name: str, raw: bytes) -> ToolReply:
        """The call after the first `depth` interventions."""
        if depth == len(self._layers):
            return await self._injected_or_made(name, raw)
        edits = self._layers[depth].next_edits()
        for item in (item for edit in edits if edit.kind == "before" for item in edit.calls):
            await self._through(depth + 1, item.tool, _raw(item))
        for edit in edits:
            if edit.kind == "drop":
                return _reply_of(edit)
            if edit.kind == "replace":
                name, raw = edit.calls[0].tool, _raw(edit.calls[0])
        answered = next((edit for edit in edits if edit.kind == "answer"), None)
        if answered is None:
            return await self._through(depth + 1, name, raw)
        writes = (spec := self.spec(name)) is not None and spec.effect == "write"
        failure = _failure(answered.error, answered.message, answered.content)
        injected = _InjectedAnswer(content=answered.content, failure=failure, forwarded=writes, fed=False)
        return await self._injected(injected, name, raw)

    async def _injected_or_made(self, name: str, raw: bytes) -> ToolReply:
        number, self._made = self._made, self._made + 1
        if number >= len(self._fed):
            return await super().call(name, raw)
        expected = self._expected_call(number, name, raw)
        if expected.error in _NO_SOURCE:
            return await super().call(name, raw)
        failure = _failure(expected.error, expected.message, expected.content)
        injected = _InjectedAnswer(content=expected.content, failure=failure, forwarded=True, fed=True)
        return await self._injected(injected, name, raw)

    async def _injected(self, injected: _InjectedAnswer, name: str, raw: bytes) -> ToolReply:
        token = _INJECTED.set(injected)
        try:
            return await super().call(name, raw)
        finally:
            _INJECTED.reset(token)

    def _expected_call(self, number: int, name: str, raw: bytes) -> FedCall:
        """The call that is made again. Of calls that the parent's model asked for together, which a program may make
        side by side, each may come first.
        """
        first = self._fed[number]
        arguments, unparsed, _ = parsed_arguments(raw)
        for place in range(number, len(self._fed)):
            if self._fed[place].step == first.step and self._is_same(self._fed[place], name, arguments, unparsed):
                self._fed.insert(number, self._fed.pop(place))
                return self._fed[number]
        cleaned = None if arguments is None else self.cleaned(arguments)
        found = f"{name}({canonical_json(cleaned) if unparsed is None else unparsed})"
        raise ReplayDiverged(first.step, _call_text(first), found[:_SHOWN])

    def _is_same(self, expected: FedCall, name: str, arguments: JsonObject | None, unparsed: str | None) -> bool:
        spec = self.spec(name)

        def whole(sent: JsonObject | None) -> str:
            return canonical_json(sent if sent is None or spec is None else complete_arguments(spec, sent))

        cleaned = None if arguments is None else self.cleaned(arguments)
        same = name == expected.tool and whole(cleaned) == whole(expected.arguments)
        return same and (unparsed is None) == (expected.unparsed is None)

    async def _answered(self, tool: Tool, complete: JsonObject, key: CallKey, probe: str | None) -> CallResult:
        injected = _INJECTED.get()
        if injected is None or probe is not None:
            return await super()._answered(tool, complete, key, probe)
        tier = None
        if injected.forwarded:
            request = ToolRequest(tool=tool.spec, arguments=complete, key=key)
            answer = await self._beside(injected, request)
            if isinstance(answer, ToolMiss) and tool.spec.effect == "write" and injected.failure is None:
                raise ReplayDiverged(None, f"{tool.spec.name} is answered as before", answer.message)
            tier = None if isinstance(answer, ToolMiss) else answer.tier
        if tier is not None:
            self.exchange.ledger.tiers[tier] += 1
        if injected.failure is not None:
            return CallResult(failure=injected.failure, content=injected.failure.content, tier=tier)
        self.exchange.ledger.answered.add(tool.spec.name)
        body = json.dumps(injected.content, ensure_ascii=False).encode()
        return CallResult(content=json.loads(body), body=body, tier=tier)

    async def _beside(self, injected: _InjectedAnswer, request: ToolRequest) -> ToolAnswer | ToolMiss:
        """The tool's own answer to a call to which another answer is injected."""
        if self._fed_values is None or not injected.fed or injected.failure is not None:
            return await self.source.call(request)
        return await self._fed_values.again(request, json.loads(json.dumps(injected.content)))


def calls_of(toolbox: Toolbox, trial: TrialContext, source: TrialTools) -> ToolCallHandler:
    """The tool calls of a trial, which may be a variant."""
    variant = trial.request.variant
    return ToolCallHandler(toolbox, trial, source) if variant is None else InterveningCalls(toolbox, trial, source)


class _Layer:
    """One intervention, and how many calls have passed it."""

    def __init__(self, intervention: Intervention) -> None:
        self.intervention = intervention
        self._calls = 0

    def next_edits(self) -> tuple[CallEdit, ...]:
        number, self._calls = self._calls, self._calls + 1
        return tuple(edit for edit in self.intervention.edits if edit.at == number)


def _raw(invocation: Invocation) -> bytes:
    return json.dumps(invocation.arguments, ensure_ascii=False).encode()


def _call_text(call: FedCall) -> str:
    arguments = canonical_json(call.arguments) if call.unparsed is None else call.unparsed
    return f"{call.tool}({arguments})"[:_SHOWN]


def _failure(error: str | None, message: str, content: object) -> CallFailure | None:
    """The failure as it was recorded; a text of the tool itself is in the recorded content."""
    if error is None:
        return None
    if error not in get_args(ToolErrorType):
        raise ReplayDiverged(None, "an error of the closed vocabulary", f"{error!r}")
    failure = content.get("error") if isinstance(content, dict) else None
    status = _STATUS.search(message)
    return CallFailure(
        type=cast(ToolErrorType, error),
        message=message,
        status=int(status[1]) if status is not None and error == "tool_error" else None,
        body=failure.get("body") if isinstance(failure, dict) else None,
    )


def _reply_of(edit: CallEdit) -> ToolReply:
    """The answer to a call that was suppressed; no step shows it."""
    failure = _failure(edit.error, edit.message, edit.content)
    if failure is not None:
        return ToolReply(status=failure.http_status, body=failure.encoded(), failure=failure)
    return ToolReply(status=200, body=json.dumps(edit.content, ensure_ascii=False).encode())


# The agent knows the ids and times of its parent's answers; the services that take the same writes generate others.
# While fed calls are made again, the two answers to each call tell which values correspond. Later calls reach the
# services with their own values, and their answers reach the agent with the parent's.


@dataclass(frozen=True, kw_only=True)
class FedValueSource:
    """The tools of a variant. Tools that act in the trial's own sandbox or browser are not translated."""

    inner: TrialTools
    trial: TrialContext
    values: "Normalisation"

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        """The answer with the parent's values."""
        if self._is_own(request):
            return await self.inner.call(request)
        answer = await self.inner.call(self._changed_request(request))
        if isinstance(answer, ToolMiss):
            return answer
        return replace(answer, body=self.values.normalised(answer.body, request.tool.name))

    async def again(self, request: ToolRequest, fed: JsonValue) -> ToolAnswer | ToolMiss:
        """The service's answer, as it is, to a call to which the agent was fed another."""
        if self._is_own(request):
            return await self.inner.call(request)
        answer = await self.inner.call(self._changed_request(request))
        if isinstance(answer, ToolAnswer):
            result = result_of(request.tool, answer)
            if not isinstance(result, CallFailure):
                self.values.learn(request.tool.name, result, fed)
        return answer

    def _changed_request(self, request: ToolRequest) -> ToolRequest:
        arguments = self.values.sent(request.arguments, request.tool.name)
        assert isinstance(arguments, dict)  # translation keeps the structure
        return replace(request, arguments=arguments)

    def _is_own(self, request: ToolRequest) -> bool:
        server = self.trial.suite.servers.get(request.tool.server)
        return server is not None and bool(server.sandbox or server.browser)
