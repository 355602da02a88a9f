"""Every tool call of a trial passes here: known, allowed, within the limits, valid, answered, traced."""

import asyncio
import json
from dataclasses import dataclass, field, replace

from harness.case import StateProbe, ToolSpec, without_volatile
from harness.cassette import CallKey, Redactor, complete_arguments, key_of_kept
from harness.errors import OutOfTime
from harness.gateway.failures import Failure
from harness.gateway.ledger import Ledger
from harness.gateway.outcome import result_of
from harness.gateway.toolbox import Tool, Toolbox
from harness.gateway.user import HeardCall
from harness.strict_json import NotJson, parse_json
from harness.trace import ReplayTier, TraceRecorder, names
from harness.upstream import ToolMiss, ToolRequest, ToolSource, retried_text, unroutable
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


@dataclass(frozen=True, kw_only=True)
class _Made:
    """A received call."""

    name: str
    id: str
    started_ns: int
    arguments: JsonObject | None
    unparsed: str | None = None
    thought: str | None = None
    plan: tuple[str, ...] | None = None
    probe: str | None = None


@dataclass(frozen=True, kw_only=True)
class Done:
    """The result of a call."""

    content: JsonValue = None
    body: bytes = b"null"
    failure: Failure | None = None
    tier: ReplayTier | None = None
    nearest: tuple[JsonObject, ...] = ()
    fault: str | None = None
    retried: tuple[str, ...] = ()
    pace_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ToolCallParts:
    """What the tool calls of one trial are served with."""

    toolbox: Toolbox
    offered: frozenset[str]
    source: ToolSource
    recorder: TraceRecorder
    redactor: Redactor


class ToolCallHandler:
    """Serves the tool calls of one trial; it may serve many connections at once."""

    def __init__(self, parts: ToolCallParts) -> None:
        self._toolbox = parts.toolbox
        self._offered = parts.offered
        self.source = parts.source
        self._recorder = parts.recorder
        self._redactor = parts.redactor
        self._number = 0
        self._slow = asyncio.Lock()
        self.under_way: set[asyncio.Task[object]] = set()

    def offered_specs(self) -> list[ToolSpec]:
        """The tools that the trial may call, in the suite's order."""
        return [tool.spec for name, tool in self._toolbox.tools.items() if name in self._offered]

    def cleaned(self, arguments: JsonObject) -> JsonObject:
        """The arguments as they are stored: without secrets."""
        stored: JsonObject = json.loads(canonical_json(self._redactor.value(arguments)))
        return stored

    async def finish(self, ledger: Ledger) -> None:
        """Called when the agent has ended, before the probes are read."""
        del ledger

    def spec(self, name: str) -> ToolSpec | None:
        """The tool of that name, whether or not it is offered."""
        tool = self._toolbox.tools.get(name)
        return None if tool is None else tool.spec

    async def call(self, name: str, raw: bytes, ledger: Ledger) -> ToolReply:
        """One call of the agent. Never raises for what the agent or the tool does."""
        thought, plan = ledger.take_thought()
        arguments, unparsed, problem = parsed_arguments(raw)
        made = _Made(
            name=name,
            id=self._next_id(),
            started_ns=self._recorder.now_ns(),
            arguments=arguments,
            unparsed=unparsed,
            thought=thought,
            plan=plan,
        )
        admitted = ledger.admits_call()
        failure = self._refused(name) if admitted else _limit(ledger)
        if failure is None and not ledger.within_budget(name):
            failure = _limit(ledger)
        done = self._seen(await self._done(made, failure or problem, ledger))
        if admitted or ledger.calls == ledger.steps + 1:
            # Of the calls beyond the limit only the first is recorded: an agent in an endless loop must not fill the
            # disk.
            self._trace(made, done)
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

    def _heard(self, made: _Made, done: Done) -> HeardCall:
        tool = self._toolbox.tools.get(made.name)
        return HeardCall(
            name=self._redactor.everywhere(made.name),
            arguments=made.arguments,
            effect="write" if tool is None else tool.spec.effect,
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

    async def probe(self, probe: StateProbe, ledger: Ledger) -> tuple[JsonValue, Failure | None]:
        """The harness's own read: the same path as a call, but no step and under no limit."""
        assert probe.tool is not None  # the others are not calls
        made = _Made(
            name=probe.tool,
            id=self._next_id(),
            started_ns=self._recorder.now_ns(),
            arguments=probe.arguments,
            probe=probe.name,
        )
        done = await self._done(made, None, ledger)
        self._trace(made, done)
        return self._redactor.value(done.content), done.failure

    def _next_id(self) -> str:
        self._number += 1
        return f"call_{self._number}"

    def _refused(self, name: str) -> Failure | None:
        if name not in self._toolbox.tools:
            known = ", ".join(tool for tool in self._toolbox.tools if tool in self._offered) or "none"
            return Failure(type="unknown_tool", message=f"there is no tool {name!r}; the tools are: {known}")
        if name not in self._offered:
            return Failure(type="not_allowed", message=f"the tool {name!r} is not allowed here")
        return None

    async def _done(self, made: _Made, failure: Failure | None, ledger: Ledger) -> Done:
        if failure is None and made.arguments is not None:
            tool = self._toolbox.tools[made.name]
            return await self._tracked(made, tool, made.arguments, ledger)
        assert failure is not None  # arguments are missing only where parsing them failed
        return Done(failure=failure, content=failure.content)

    async def _tracked(self, made: _Made, tool: Tool, arguments: JsonObject, ledger: Ledger) -> Done:
        task = asyncio.current_task()
        assert task is not None
        self.under_way.add(task)
        try:
            return await self._checked(tool, arguments, ledger, made.probe)
        except asyncio.CancelledError:
            failure = Failure(type="timeout", message="the trial ended while the call was under way")
            self._trace(made, Done(failure=failure, content=failure.content))
            raise
        finally:
            self.under_way.discard(task)

    async def _checked(self, tool: Tool, arguments: JsonObject, ledger: Ledger, probe: str | None) -> Done:
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
            return Done(failure=failure, content=failure.content)
        key = key_of_kept(tool.spec, kept, self._redactor)
        return await self._answered(tool, complete, key, ledger, probe)

    async def _answered(
        self, tool: Tool, complete: JsonObject, key: CallKey, ledger: Ledger, probe: str | None
    ) -> Done:
        answer = await self.source.call(
            ToolRequest(tool=tool.spec, arguments=complete, key=key, probe=probe is not None)
        )
        if isinstance(answer, ToolMiss):
            missed: JsonObject = {
                "tool": key.tool,
                "arguments": json.loads(key.arguments),
                "nearest": list(answer.nearest),
            }
            ledger.miss(missed if probe is None else missed | {"probe": probe})
            failure = Failure(type="replay_miss", message=answer.message)
            return Done(failure=failure, content=failure.content, tier="miss", nearest=answer.nearest)
        ledger.tiers[answer.tier] += 1
        ledger.reused_once_recorded += answer.once_recorded
        if answer.outcome == "answer":
            ledger.count_provenance("tool", answer.tier, key, answer.provenance)
        result = result_of(tool.spec, answer)
        told = Done(tier=answer.tier, fault=answer.fault, pace_s=answer.pace_s, retried=answer.retried)
        if isinstance(result, Failure):
            return replace(told, failure=result, content=result.content)
        if probe is None:
            ledger.answered.add(tool.spec.name)
        return replace(told, content=result, body=answer.body or b"null")

    def _trace(self, made: _Made, done: Done) -> None:
        tool = self._toolbox.tools.get(made.name)
        clean = self._redactor
        failure = done.failure
        name = clean.everywhere(made.name)
        self._recorder.record(
            f"{names.EXECUTE_TOOL} {name}",
            {
                names.OPERATION: names.EXECUTE_TOOL,
                names.STEP_KIND: names.TOOL if made.probe is None else names.PROBE,
                names.PROBE_NAME: made.probe,
                names.TOOL_NAME: name,
                names.TOOL_CALL_ID: made.id,
                names.TOOL_ARGUMENTS: None if made.arguments is None else canonical_json(clean.value(made.arguments)),
                names.TOOL_UNPARSED: None if made.unparsed is None else clean.everywhere(made.unparsed),
                names.TOOL_EFFECT: None if tool is None else tool.spec.effect,
                names.TOOL_RESULT: json.dumps(clean.value(done.content, learn=True), ensure_ascii=False),
                names.ERROR_TYPE: None if failure is None else failure.type,
                names.TOOL_ERROR_MESSAGE: None if failure is None else clean.everywhere(failure.message),
                names.REPLAY_TIER: done.tier,
                names.INJECTED: None if done.fault is None else True,
                names.FAULT_KIND: done.fault,
                names.TOOL_RETRIED: retried_text(done.retried, clean),
                names.REPLAY_NEAREST: canonical_json(list(done.nearest)) if done.tier == "miss" else None,
                names.THOUGHT: made.thought,
                names.PLAN: None if made.plan is None else json.dumps(made.plan, ensure_ascii=False),
            },
            made.started_ns,
            failed=failure is not None,
        )


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


def _limit(ledger: Ledger) -> Failure:
    return Failure(type="limit_reached", message=f"the limit of {ledger.limit_reached} is reached")
