"""Handles every request to a declared host: it is limited, admitted, answered and traced."""

from collections.abc import Callable
from dataclasses import dataclass, field

from harness.case import HostSpec
from harness.gateway.exchange.exchange import CallResult, Exchange, ReceivedCall, failed
from harness.gateway.failures import CallFailure
from harness.gateway.web.observed import content_of, failure_of
from harness.trace import names
from harness.upstream import Sink, ToolMiss, WebCall, WebSource

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
    _refused: set[tuple[str, str]] = field(default_factory=set, init=False)

    async def answer(self, call: WebCall, sink: Sink) -> tuple[CallFailure | None, bool]:
        """Returns the reason of a failure, and whether the agent received a part of the host's answer."""
        ledger = self.exchange.ledger
        received = self._received(call, *ledger.take_thought())
        admitted = ledger.admits_call()
        result, begun = await self._result(received, call, sink, None if admitted else self.exchange.limit())
        if self.exchange.worth_a_span(admitted=admitted):
            await self.exchange.trace(received, result)
        return result.failure, begun

    def _received(self, call: WebCall, thought: str | None = None, plan: tuple[str, ...] | None = None) -> ReceivedCall:
        self._number += 1
        return ReceivedCall(
            name=call.key.tool,
            id=f"http_{self._number}",
            started_ns=self.exchange.recorder.now_ns(),
            arguments=call.asked,
            kind=self.kind,
            effect=call.key.effect,
            thought=thought,
            plan=plan,
            size=len(call.body),
        )

    def refuse(self, host: str, reason: str) -> None:
        """Records an attempt to reach an undeclared host in the trace: it is not a step, and recorded once per host."""
        if (host, reason) in self._refused or len(self._refused) == _MOST_REFUSED:
            return
        self._refused.add((host, reason))
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
            recorder.now_ns(),
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
        self.exchange.count("http", call.key, answer)
        failure = failure_of(call.host, answer)
        if failure is None:
            self.exchange.ledger.answered.add(call.key.tool)
        content = failure.content if failure is not None and answer.status == 0 else content_of(answer)
        result = CallResult(
            content=content, body=answer.body, failure=failure, tier=answer.tier, retried=answer.retried
        )
        return result, answer.status != 0
