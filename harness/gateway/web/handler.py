"""Every request to a declared host passes here: within the limits, allowed, answered, traced."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.case import HostSpec
from harness.cassette import Redactor
from harness.gateway.failures import Failure
from harness.gateway.ledger import Ledger
from harness.gateway.web.observed import content_of, failure_of
from harness.trace import ReplayTier, TraceRecorder, names
from harness.upstream import Sink, ToolAnswer, WebCall, WebMiss, WebSource, retried_text
from harness.values import JsonObject, JsonValue, canonical_json

_MOST_REFUSED = 100


@dataclass(frozen=True, kw_only=True)
class WebAccount:
    """What the requests of one trial are counted and traced with."""

    ledger: Ledger
    recorder: TraceRecorder
    redactor: Redactor
    under_way: set[asyncio.Task[object]]
    """Waited for when the trial ends."""


@dataclass(kw_only=True)
class _Exchange:
    """One request and its result."""

    call: WebCall
    number: int
    started_ns: int
    thought: str | None
    plan: tuple[str, ...] | None
    content: JsonValue = None
    failure: Failure | None = None
    tier: ReplayTier | None = None
    nearest: tuple[JsonObject, ...] = ()
    retried: tuple[str, ...] = ()


@dataclass(kw_only=True)
class WebHandler:
    """Serves the requests of one trial; it may serve many connections at once."""

    account: WebAccount
    source: WebSource
    allowed: Callable[[str], bool]
    """Whether the case allows the tool of that name."""
    refuses_writes: frozenset[str]
    """Tools of hosts whose state may not be changed in this mode."""
    _number: int = field(default=0, init=False)
    _refused: set[tuple[str, str]] = field(default_factory=set, init=False)

    async def answer(self, call: WebCall, sink: Sink) -> tuple[Failure | None, bool]:
        """Returns the reason of a failure, and whether the agent received a part of the host's answer."""
        ledger = self.account.ledger
        thought, plan = ledger.take_thought()
        exchange = self._begun(call, thought, plan)
        admitted = ledger.admits_call()
        refusal = self._refusal(call) if admitted else _limit(ledger)
        begun = False
        if refusal is not None:
            exchange.failure, exchange.content = refusal, refusal.content
        else:
            begun = await self._tracked(exchange, sink)
        if admitted or ledger.calls == ledger.steps + 1:
            self._trace(exchange)
        return exchange.failure, begun

    def _begun(self, call: WebCall, thought: str | None, plan: tuple[str, ...] | None) -> _Exchange:
        self._number += 1
        started_ns = self.account.recorder.now_ns()
        return _Exchange(call=call, number=self._number, started_ns=started_ns, thought=thought, plan=plan)

    @property
    def _kind(self) -> str:
        """What a request is in the trace."""
        return names.TOOL

    @property
    def _refused_kind(self) -> str:
        """The kind of an undeclared host in the trace."""
        return names.REFUSED

    def refuse(self, host: str, reason: str) -> None:
        """Keeps in the trace whom else the agent wanted to reach: no step, and each once."""
        if (host, reason) in self._refused or len(self._refused) == _MOST_REFUSED:
            return
        self._refused.add((host, reason))
        recorder, clean = self.account.recorder, self.account.redactor
        shown = clean.text(host)
        recorder.record(
            f"{self._refused_kind} http:{shown}",
            {
                names.STEP_KIND: self._refused_kind,
                names.TOOL_NAME: f"http:{shown}",
                names.ERROR_TYPE: "not_allowed",
                names.TOOL_ERROR_MESSAGE: clean.text(reason),
            },
            recorder.now_ns(),
            failed=True,
        )

    def _refusal(self, call: WebCall) -> Failure | None:
        host: HostSpec = call.host
        if not self.account.ledger.within_budget(host.tool):
            return _limit(self.account.ledger)
        if not self.allowed(host.tool):
            return Failure(type="not_allowed", message=f"the host {host.host!r} is not allowed here")
        if call.key.effect == "write" and host.tool in self.refuses_writes:
            return Failure(
                type="not_allowed",
                message=f"{call.method} would write to {host.host}, which is not declared `disposable: true`",
            )
        return None

    async def _tracked(self, exchange: _Exchange, sink: Sink) -> bool:
        task = asyncio.current_task()
        assert task is not None
        under_way = self.account.under_way
        under_way.add(task)
        try:
            return await self._answered(exchange, sink)
        except asyncio.CancelledError:
            failure = Failure(type="timeout", message="the trial ended while the request was under way")
            exchange.failure, exchange.content = failure, failure.content
            self._trace(exchange)
            raise
        finally:
            under_way.discard(task)

    async def _answered(self, exchange: _Exchange, sink: Sink) -> bool:
        call, ledger = exchange.call, self.account.ledger
        answer = await self.source.answer(call, sink)
        if isinstance(answer, WebMiss):
            asked: JsonValue = json.loads(call.key.arguments)
            ledger.miss({"tool": call.key.tool, "arguments": asked, "nearest": list(answer.nearest)})
            failure = Failure(type="replay_miss", message=answer.message)
            exchange.failure, exchange.content = failure, failure.content
            exchange.tier, exchange.nearest = "miss", answer.nearest
            return False
        ledger.tiers[answer.tier] += 1
        ledger.reused_once_recorded += answer.once_recorded
        if answer.outcome == "answer":
            ledger.count_provenance("http", answer.tier, call.key, answer.provenance)
        exchange.tier, exchange.failure = answer.tier, failure_of(call.host, answer)
        exchange.retried = answer.retried
        exchange.content = self._content(exchange.failure, answer)
        if exchange.failure is None:
            ledger.answered.add(call.key.tool)
        return answer.status != 0

    def _content(self, failure: Failure | None, answer: ToolAnswer) -> JsonValue:
        return failure.content if failure is not None and answer.status == 0 else content_of(answer)

    def _trace(self, exchange: _Exchange) -> None:
        call, failure, clean = exchange.call, exchange.failure, self.account.redactor
        is_step = self._kind == names.TOOL
        self.account.recorder.record(
            f"{names.EXECUTE_TOOL if is_step else self._kind} {call.key.tool}",
            {
                names.OPERATION: names.EXECUTE_TOOL if is_step else None,
                names.STEP_KIND: self._kind,
                names.TOOL_NAME: call.key.tool,
                names.TOOL_CALL_ID: f"http_{exchange.number}",
                names.TOOL_ARGUMENTS: canonical_json(clean.value(call.asked)),
                names.TOOL_EFFECT: call.key.effect,
                names.TOOL_RESULT: json.dumps(clean.value(exchange.content, learn=True), ensure_ascii=False),
                names.ERROR_TYPE: None if failure is None else failure.type,
                names.TOOL_ERROR_MESSAGE: None if failure is None else clean.text(failure.message),
                names.REPLAY_TIER: exchange.tier,
                names.TOOL_RETRIED: retried_text(exchange.retried, clean),
                names.REPLAY_NEAREST: canonical_json(list(exchange.nearest)) if exchange.tier == "miss" else None,
                names.THOUGHT: exchange.thought,
                names.PLAN: None if exchange.plan is None else json.dumps(exchange.plan, ensure_ascii=False),
            },
            exchange.started_ns,
            failed=failure is not None,
        )


def _limit(ledger: Ledger) -> Failure:
    return Failure(type="limit_reached", message=f"the limit of {ledger.limit_reached} is reached")
