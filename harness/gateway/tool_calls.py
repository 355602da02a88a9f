"""Every tool call of a trial passes here: known, allowed, within the limits, valid, answered, traced."""

import asyncio
import json
from dataclasses import dataclass, field, replace

from harness.case import StateProbe, ToolSpec, without_volatile
from harness.cassette import CallKey, complete_arguments, key_of_kept
from harness.errors import OutOfTime
from harness.gateway.exchange.exchange import Done, Made, failed
from harness.gateway.exchange.trial import TrialContext
from harness.gateway.failures import Failure
from harness.gateway.outcome import result_of
from harness.gateway.toolbox import Tool, Toolbox
from harness.gateway.user import HeardCall
from harness.strict_json import NotJson, parse_json
from harness.trace import names
from harness.upstream import ToolMiss, ToolRequest, ToolSource, unroutable
from harness.values import JsonObject, JsonValue, canonical_json


@dataclass(frozen=True, kw_only=True)
class ToolReply:
    """What the agent is answered."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    pace_s: float = 0.0
    """The body is sent in pieces over so long."""
    failure: Failure | None = None
    """The failure in `body`, for endpoints that report it in another form."""


class ToolCallHandler:
    """Serves the tool calls of one trial; it may serve many connections at once."""

    def __init__(self, toolbox: Toolbox, trial: TrialContext, source: ToolSource) -> None:
        """`source` answers the calls of the tools that are offered in the trial."""
        self._toolbox = toolbox
        self._offered = toolbox.offered(trial.case)
        self.source = source
        self.exchange = trial.exchange
        self._redactor = trial.redactor
        self._number = 0
        self._slow = asyncio.Lock()

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
        thought, plan = ledger.take_thought()
        arguments, unparsed, problem = parsed_arguments(raw)
        made = self._received(name, arguments, unparsed=unparsed, thought=thought, plan=plan)
        admitted = ledger.admits_call()
        failure = self._refused(name) if admitted else exchange.limit()
        if failure is None and not ledger.within_budget(name):
            failure = exchange.limit()
        done = self._seen(await self._done(made, failure or problem))
        if exchange.worth_a_span(admitted=admitted):
            exchange.trace(made, done)
            ledger.hear_call(self._heard(made, done))
        if done.failure is not None:
            return ToolReply(
                status=done.failure.http_status,
                body=done.failure.encoded(),
                headers=done.failure.http_headers,
                pace_s=done.pace_s,
                failure=done.failure,
            )
        return ToolReply(status=200, body=done.body, pace_s=done.pace_s)

    def _received(
        self,
        name: str,
        arguments: JsonObject | None,
        *,
        unparsed: str | None = None,
        thought: str | None = None,
        plan: tuple[str, ...] | None = None,
    ) -> Made:
        self._number += 1
        spec = self.spec(name)
        return Made(
            name=name,
            id=f"call_{self._number}",
            started_ns=self.exchange.recorder.now_ns(),
            arguments=arguments,
            effect=None if spec is None else spec.effect,
            unparsed=unparsed,
            thought=thought,
            plan=plan,
        )

    def _heard(self, made: Made, done: Done) -> HeardCall:
        return HeardCall(
            name=self._redactor.everywhere(made.name),
            arguments=made.arguments,
            effect=made.effect or "write",
            failed=done.failure is not None,
        )

    def _seen(self, done: Done) -> Done:
        """As the agent may see it: a secret that the tool echoes stays in the gateway."""
        clean, failure = self._redactor, done.failure
        if failure is not None:
            body: JsonValue = json.loads(clean.for_agent(json.dumps(failure.body).encode()))
            headers = {name: clean.text(value) for name, value in failure.headers.items()}
            failure = replace(failure, message=clean.text(failure.message), body=body, headers=headers)
            return replace(done, failure=failure, content=failure.content)
        body_seen = clean.for_agent(done.body)
        return done if body_seen is done.body else replace(done, body=body_seen)

    async def probe(self, probe: StateProbe) -> tuple[JsonValue, Failure | None]:
        """The harness's own read: the same path as a call, but no step and under no limit."""
        assert probe.tool is not None  # the others are not calls
        made = replace(self._received(probe.tool, probe.arguments), kind=names.PROBE, probe=probe.name)
        done = await self._done(made, None)
        self.exchange.trace(made, done)
        return self._redactor.value(done.content), done.failure

    def _refused(self, name: str) -> Failure | None:
        if name not in self._toolbox.tools:
            known = ", ".join(tool for tool in self._toolbox.tools if tool in self._offered) or "none"
            return Failure(type="unknown_tool", message=f"there is no tool {name!r}; the tools are: {known}")
        if name not in self._offered:
            return Failure(type="not_allowed", message=f"the tool {name!r} is not allowed here")
        return None

    async def _done(self, made: Made, failure: Failure | None) -> Done:
        if failure is None and made.arguments is not None:
            answering = self._checked(self._toolbox.tools[made.name], made.arguments, made.probe)
            return await self.exchange.followed(answering, lambda: self.exchange.cut_short(made))
        assert failure is not None  # arguments are missing only where parsing them failed
        return failed(failure)

    async def _checked(self, tool: Tool, arguments: JsonObject, probe: str | None) -> Done:
        complete = complete_arguments(tool.spec, arguments)
        try:
            if tool.may_take_long(arguments):  # one at a time: a trial must not take the threads from the others
                async with self._slow:
                    failure, kept = await asyncio.to_thread(_looked_at, tool, arguments, complete)
            else:
                failure, kept = _looked_at(tool, arguments, complete)
        except OutOfTime as error:  # it is not known whether the agent did anything wrong
            failure, kept = Failure(type="tool_unavailable", message=f"the call cannot be checked: {error}"), {}
        if failure is not None:
            return failed(failure)
        key = key_of_kept(tool.spec, kept, self._redactor)
        return await self._answered(tool, complete, key, probe)

    async def _answered(self, tool: Tool, complete: JsonObject, key: CallKey, probe: str | None) -> Done:
        request = ToolRequest(tool=tool.spec, arguments=complete, key=key, probe=probe is not None)
        answer = await self.source.call(request)
        if isinstance(answer, ToolMiss):
            return self.exchange.missed(key, answer, probe)
        self.exchange.count("tool", key, answer)
        result = result_of(tool.spec, answer)
        told = Done(tier=answer.tier, fault=answer.fault, pace_s=answer.pace_s, retried=answer.retried)
        if isinstance(result, Failure):
            return replace(told, failure=result, content=result.content)
        if probe is None:
            self.exchange.ledger.answered.add(tool.spec.name)
        return replace(told, content=result, body=answer.body or b"null")


def parsed_arguments(raw: bytes) -> tuple[JsonObject | None, str | None, Failure | None]:
    """The arguments, or the received text and a description of its problem."""
    try:
        value = parse_json(raw)
    except NotJson as error:
        problem = "the body is empty; send {} for no arguments" if not raw.strip() else f"not JSON: {error}"
    else:
        if isinstance(value, dict):
            return value, None, None
        problem = "a JSON object is expected"
    failure = Failure(type="unparsable_arguments", message=f"the arguments cannot be read: {problem}")
    return None, raw.decode("utf-8", "replace"), failure


def _looked_at(tool: Tool, arguments: JsonObject, complete: JsonObject) -> tuple[Failure | None, JsonObject]:
    """What is wrong with the arguments, and what of them the key is taken of. Raises OutOfTime."""
    problem = tool.problem_with(arguments) or unroutable(tool.spec, complete)
    if problem is None:
        return None, without_volatile(tool.spec, complete)
    message = f"the arguments of {tool.spec.name} are not valid: {problem}"
    return Failure(type="invalid_arguments", message=message), {}
