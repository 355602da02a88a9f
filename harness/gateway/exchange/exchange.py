"""What every call of a trial passes: it is counted, followed while it is under way, and traced as one span."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from harness.case import CalledKind, Effect
from harness.cassette import CallKey, Redactor
from harness.gateway.failures import Failure
from harness.gateway.ledger import Ledger
from harness.trace import ReplayTier, TraceRecorder, names
from harness.upstream import ToolAnswer, ToolMiss, retried_text
from harness.values import JsonObject, JsonValue, canonical_json

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Made:
    """A received call of a tool, request to a host, or probe. It may hold secrets."""

    name: str
    id: str | None
    started_ns: int
    arguments: JsonObject | None
    kind: str = names.TOOL
    """What it is in the trace."""
    effect: Effect | None = None
    unparsed: str | None = None
    thought: str | None = None
    plan: tuple[str, ...] | None = None
    probe: str | None = None


@dataclass(frozen=True, kw_only=True)
class Done:
    """The result of a call. It may hold secrets."""

    content: JsonValue = None
    body: bytes = b"null"
    failure: Failure | None = None
    tier: ReplayTier | None = None
    nearest: tuple[JsonObject, ...] = ()
    fault: str | None = None
    retried: tuple[str, ...] = ()
    pace_s: float = 0.0


def failed(failure: Failure) -> Done:
    """A call that failed before anything could answer it."""
    return Done(failure=failure, content=failure.content)


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """Shared by all calls of one trial. Used on the gateway's own thread only."""

    ledger: Ledger
    recorder: TraceRecorder
    redactor: Redactor
    under_way: set[asyncio.Task[object]] = field(default_factory=set)
    """Waited for when the trial ends."""

    def limit(self) -> Failure:
        """The failure of a call past a limit."""
        return Failure(type="limit_reached", message=f"the limit of {self.ledger.limit_reached} is reached")

    async def followed(self, answering: Awaitable[T], cut_short: Callable[[], None]) -> T:
        """Waits for an answer; `cut_short` is called where the trial ends first."""
        task = asyncio.current_task()
        assert task is not None
        self.under_way.add(task)
        try:
            return await answering
        except asyncio.CancelledError:
            cut_short()
            raise
        finally:
            self.under_way.discard(task)

    def cut_short(self, made: Made) -> None:
        """Traces a call that the end of the trial has interrupted."""
        self.trace(made, failed(Failure(type="timeout", message="the trial ended while the call was under way")))

    def missed(self, key: CallKey, miss: ToolMiss, probe: str | None = None) -> Done:
        """Counts a call that no recording answers."""
        asked: JsonObject = {"tool": key.tool, "arguments": json.loads(key.arguments), "nearest": list(miss.nearest)}
        self.ledger.miss(asked if probe is None else asked | {"probe": probe})
        failure = Failure(type="replay_miss", message=miss.message)
        return Done(failure=failure, content=failure.content, tier="miss", nearest=miss.nearest)

    def count(self, kind: CalledKind, key: CallKey, answer: ToolAnswer) -> None:
        """Counts an answer by its source."""
        self.ledger.tiers[answer.tier] += 1
        self.ledger.reused_once_recorded += answer.once_recorded
        if answer.outcome == "answer":
            self.ledger.count_provenance(kind, answer.tier, key, answer.provenance)

    def worth_a_span(self, *, admitted: bool) -> bool:
        """Whether a call is traced.

        Of the calls beyond the limit only the first is: an agent in an endless loop must not fill the disk.
        """
        return admitted or self.ledger.calls == self.ledger.steps + 1

    def trace(self, made: Made, done: Done, *, failed: bool = False) -> None:
        """Records the span of a call, without secrets; `failed` also marks one without a failure to tell of."""
        clean, failure = self.redactor, done.failure
        name = clean.everywhere(made.name)
        operation = names.EXECUTE_TOOL if made.kind in (names.TOOL, names.PROBE) else None
        self.recorder.record(
            f"{operation or made.kind} {name}",
            {
                names.OPERATION: operation,
                names.STEP_KIND: made.kind,
                names.PROBE_NAME: made.probe,
                names.TOOL_NAME: name,
                names.TOOL_CALL_ID: made.id,
                names.TOOL_ARGUMENTS: None if made.arguments is None else canonical_json(clean.value(made.arguments)),
                names.TOOL_UNPARSED: None if made.unparsed is None else clean.everywhere(made.unparsed),
                names.TOOL_EFFECT: made.effect,
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
            failed=failed or failure is not None,
        )
