"""The path that every call of a trial takes: counted, followed, traced as one span, replayed or recorded."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pydantic import JsonValue

from harness.cassettes.keys import CallKey
from harness.cassettes.player import Missed, Player
from harness.cassettes.recordings import Mark, Outcome, Recording
from harness.cassettes.redaction import Redactor
from harness.gateway.bodies import LargeWork
from harness.gateway.failures import CallFailure
from harness.gateway.ledger import Ledger
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss
from harness.suite.models import CalledKind
from harness.suite.tools import Effect
from harness.traces import names
from harness.traces.recorder import Attributes, TraceRecorder
from harness.traces.trajectory import ReplayTier
from harness.values import JsonObject, canonical_json

if TYPE_CHECKING:  # a replayed trial does without the recorder
    from harness.cassettes.normalisation import Normalisation, NormalisedAnswer
    from harness.cassettes.trial_recording import CallPosition, TrialRecording


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ReceivedCall:
    """A received call of a tool, request to a host, or probe. It may hold secrets."""

    name: str
    id: str | None
    started_ns: int
    arguments: JsonObject | None
    kind: str = names.TOOL
    """What the call is in the trace."""
    effect: Effect | None = None
    unparsed: str | None = None
    thought: str | None = None
    plan: tuple[str, ...] | None = None
    probe: str | None = None
    size: int = 0
    """Bytes of the request's body."""


@dataclass(frozen=True, kw_only=True)
class CallResult:
    """The result of a call. It may hold secrets."""

    content: JsonValue = None
    body: bytes = b"null"
    read_from: bytes | None = None
    """The JSON that `content` was read from, if a source gave it as bytes."""
    failure: CallFailure | None = None
    tier: ReplayTier | None = None
    nearest: tuple[JsonObject, ...] = ()
    fault: str | None = None
    retried: tuple[str, ...] = ()
    pace_s: float = 0.0


def failed(failure: CallFailure) -> CallResult:
    """A call that failed before anything could answer it."""
    return CallResult(failure=failure, content=failure.content)


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """Shared by all calls of one trial. Used on the gateway's own thread only."""

    ledger: Ledger
    recorder: TraceRecorder
    redactor: Redactor
    large: LargeWork
    under_way: set[asyncio.Task[object]] = field(default_factory=set)
    """Calls in progress; the end of the trial waits for them."""

    def limit(self) -> CallFailure:
        """The failure of a call past a limit."""
        return CallFailure(type="limit_reached", message=f"the limit of {self.ledger.limit_reached} is reached")

    async def followed(self, answering: Awaitable[T], cut_short: Callable[[], Awaitable[None]] | None = None) -> T:
        """Waits for an answer; `cut_short` is awaited if the trial ends first."""
        task = asyncio.current_task()
        assert task is not None
        self.under_way.add(task)
        try:
            return await answering
        except asyncio.CancelledError:
            if cut_short is not None:
                await cut_short()
            raise
        finally:
            self.under_way.discard(task)

    async def cut_short(self, call: ReceivedCall) -> None:
        """Traces a call that the end of the trial has interrupted."""
        await self.trace(
            call, failed(CallFailure(type="timeout", message="the trial ended while the call was under way"))
        )

    def missed(self, key: CallKey, miss: ToolMiss, probe: str | None = None) -> CallResult:
        """Counts a call that no recording answers."""
        request: JsonObject = {"tool": key.tool, "arguments": json.loads(key.arguments), "nearest": list(miss.nearest)}
        self.ledger.miss(request if probe is None else request | {"probe": probe})
        failure = CallFailure(type="replay_miss", message=miss.message)
        return CallResult(failure=failure, content=failure.content, tier="miss", nearest=miss.nearest)

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

    async def trace(self, call: ReceivedCall, result: CallResult, *, failed: bool = False) -> None:
        """Records the span of a call, without secrets; `failed` also marks a call as failed that has no failure
        value.
        """
        size = call.size + len(result.body)
        # The end of the trial waits for all of a request: one of several calls begins the next one after this.
        await self.followed(self.large.finished(size, self._traced(size, call, result, failed=failed)))

    async def _traced(self, size: int, call: ReceivedCall, result: CallResult, *, failed: bool) -> None:
        ended_ns = time.monotonic_ns()
        name, attributes = await self.large.done(size, lambda: self._span(call, result))
        failed = failed or result.failure is not None
        self.recorder.record(name, attributes, call.started_ns, failed=failed, ended_ns=ended_ns)

    def _span(self, call: ReceivedCall, result: CallResult) -> tuple[str, Attributes]:
        """The name and the attributes of a call's span; may be asked for from any thread."""
        clean, failure = self.redactor, result.failure
        name = clean.everywhere(call.name)
        operation = names.EXECUTE_TOOL if call.kind in (names.TOOL, names.PROBE) else None
        return (
            f"{operation or call.kind} {name}",
            {
                names.OPERATION: operation,
                names.STEP_KIND: call.kind,
                names.PROBE_NAME: call.probe,
                names.TOOL_NAME: name,
                names.TOOL_CALL_ID: call.id,
                names.TOOL_ARGUMENTS: None if call.arguments is None else clean.canonical(call.arguments),
                names.TOOL_UNPARSED: None if call.unparsed is None else clean.everywhere(call.unparsed),
                names.TOOL_EFFECT: call.effect,
                names.TOOL_RESULT: clean.answer(result.content, result.read_from),
                names.ERROR_TYPE: None if failure is None else failure.type,
                names.TOOL_ERROR_MESSAGE: None if failure is None else clean.everywhere(failure.message),
                names.REPLAY_TIER: result.tier,
                names.INJECTED: None if result.fault is None else True,
                names.FAULT_KIND: result.fault,
                names.TOOL_RETRIED: json.dumps(list(map(clean.everywhere, result.retried))) if result.retried else None,
                names.REPLAY_NEAREST: canonical_json(list(result.nearest)) if result.tier == "miss" else None,
                names.THOUGHT: call.thought,
                names.PLAN: None if call.plan is None else json.dumps(call.plan, ensure_ascii=False),
            },
        )


class Keyed(Protocol):
    """A request with its cassette key."""

    @property
    def key(self) -> CallKey: ...


R = TypeVar("R", bound=Keyed)
Ask = Callable[[R, bool], Awaitable[ToolAnswer | ToolMiss | None]]
"""Sends the request. True: the agent must not receive the answer yet, because it may be changed. None: no answer that
can be stored.
"""


class Codec(Protocol[R]):
    """What differs between the kinds of calls that are recorded."""

    @property
    def streams(self) -> bool:
        """Whether the agent receives an answer in pieces, unless it is delayed."""
        ...

    def sent(self, request: R, normalisation: "Normalisation") -> R:
        """The request with the placeholders replaced by the values of this run."""
        ...

    def mark(self, position: "CallPosition", outcome: Outcome, answer: ToolAnswer) -> Mark:
        """The recording's place on the cassette."""
        ...

    def headers(self, request: R, answer: ToolAnswer) -> Mapping[str, str]:
        """The headers to store, which may hold secrets."""
        ...

    def key(self, request: R, answer: ToolAnswer) -> CallKey:
        """The key of a request that was answered so."""
        ...


@dataclass(frozen=True, kw_only=True)
class Recorder(Generic[R]):
    """Records every answer that belongs to a call of one trial.

    Calls in the same state are made one after the other: the cassette stores which writes preceded each answer, which
    is only known if no write is in progress.
    """

    codec: Codec[R]
    trial_recording: "TrialRecording"
    redactor: Redactor
    normalisation: "Normalisation | None" = None
    """None: the agent receives every answer unchanged."""

    async def record(self, request: R, ask: Ask[R]) -> tuple[ToolAnswer | ToolMiss | None, bool]:
        """The answer in the form that the agent receives, and whether it was held back."""
        recording, key, normalisation = self.trial_recording, request.key, self.normalisation
        async with recording.chain.turn(key.server):
            if normalisation is not None:
                key = normalisation.cassette.resolved(key, recording.chain.state(key.server))
            position = recording.position(key)
            held_back = normalisation is not None and (not self.codec.streams or normalisation.may_change(position))
            sent = request if normalisation is None else self.codec.sent(request, normalisation)
            try:
                answer = await ask(sent, held_back)
                if isinstance(answer, ToolAnswer) and (told := self.codec.key(request, answer)) != key:
                    key, position = told, recording.position(told)
            except BaseException:
                recording.fail(key)
                raise
            finally:
                recording.wrote(key)
            if not isinstance(answer, ToolAnswer):
                return answer, held_back
            return self._record_answer(request, position, answer, normalisation if held_back else None), held_back

    def _record_answer(
        self, request: R, position: "CallPosition", answer: ToolAnswer, normalisation: "Normalisation | None"
    ) -> ToolAnswer:
        outcome = self.trial_recording.outcome(position, answer.outcome, answer.status)
        if outcome is None:
            return answer
        today, shown, stored = answer, answer, None
        if normalisation is not None and outcome == "answer":
            normalised = normalisation.given(position, answer.status, answer.body, self.redactor.body(answer.body))
            shown, stored = _normalised_answer(answer, normalised), normalised.held
            today = replace(answer, body=normalised.today)
        headers = self.codec.headers(request, today)
        self.trial_recording.keep(
            position,
            stored
            or Recording(
                mark=self.codec.mark(position, outcome, answer),
                arguments=position.call.arguments,
                status=today.status or 504,
                headers={name: self.redactor.everywhere(value) for name, value in headers.items()},
                body=self.redactor.body(today.body),
            ),
        )
        return shown


def _normalised_answer(answer: ToolAnswer, normalised: "NormalisedAnswer") -> ToolAnswer:
    """The answer in the form that the agent receives."""
    headers = answer.headers if normalised.headers is None else normalised.headers
    return replace(answer, status=normalised.status, headers=headers, body=normalised.body)


# Answers from a cassette, for every kind of call but model requests.


def replayed(player: Player, key: CallKey) -> ToolAnswer | ToolMiss:
    """The recorded answer to a call in the trial's current state. The status is 0 if no answer had started."""
    played = player.play(key)
    if isinstance(played, Missed):
        return ToolMiss(message=played.message, nearest=tuple(item.model_dump(mode="json") for item in played.nearest))
    recording = played.recording
    begun = recording.mark.outcome == "answer" or bool(recording.mark.chunks)
    return ToolAnswer(
        outcome=recording.mark.outcome,
        tier=played.tier,
        provenance=recording.mark.provenance,
        once_recorded=played.once_recorded,
        status=recording.status if begun else 0,
        headers=recording.headers,
        body=recording.body,
    )
