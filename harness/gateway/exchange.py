"""The path that every call of a trial takes: followed, replayed, cleaned of secrets and traced as one span."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from pydantic import JsonValue

from harness.cassettes.keys import CallKey
from harness.cassettes.player import Missed, Player
from harness.cassettes.recordings import status_phrase
from harness.cassettes.redaction import Redactor
from harness.gateway.ledger import Ledger
from harness.gateway.upstream.http_tools import MAX_ANSWER_BYTES
from harness.gateway.upstream.sources import ToolAnswer, ToolMiss, ToolRequest
from harness.suite.tools import Effect, ToolSpec
from harness.traces import names
from harness.traces.recorder import Attributes, TraceRecorder
from harness.traces.trajectory import ReplayTier, ToolErrorType
from harness.values import JsonObject, NotJson, canonical_json, parse_json

T = TypeVar("T")


WORTH_A_THREAD_BYTES: Final = 16 * 1024
"""Of the texts, from which a thread is worth its switch."""


class LargeWork:
    """The large work of one trial, one piece at a time. Used on the gateway's own thread only."""

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._turn = asyncio.Lock()
        self._asked_for = 0
        self._finishing: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def done(self, size: int, work: Callable[[], T]) -> T:
        """The result of the work on texts of `size` bytes.

        Small work is done at once, or after the large work that was asked for before it: that may learn a token which
        the small work has to find.
        """
        if size < WORTH_A_THREAD_BYTES and not self._asked_for:
            return work()
        self._asked_for += 1
        try:
            async with self._turn:
                if size < WORTH_A_THREAD_BYTES:
                    return work()
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._asked_for -= 1

    async def finished(self, size: int, work: Coroutine[object, object, T]) -> T:
        """The result of work that is done to its end, also if the trial ends first; raises CancelledError if this is
        closed.
        """
        if self._closed:
            work.close()
            raise asyncio.CancelledError
        if size < WORTH_A_THREAD_BYTES and not self._asked_for:
            return await work
        task = asyncio.get_running_loop().create_task(work)
        self._finishing.add(task)
        task.add_done_callback(self._finishing.discard)
        return await asyncio.shield(task)

    async def all_finished(self) -> list[BaseException]:
        """Waits for all work that `finished` was asked for, and returns the failures of this: a request that the end
        of the trial has cut short does not tell of its own.
        """
        failures: list[BaseException] = []
        while self._finishing:
            ended = await asyncio.gather(*self._finishing, return_exceptions=True)
            failures += (one for one in ended if isinstance(one, BaseException))
        return failures

    async def close(self) -> None:
        """Gives up what is not finished: no task of it is left when the event loop ends."""
        self._closed = True
        left = tuple(self._finishing)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


# The form in which the agent receives a failed call: a status, and JSON that describes the problem.

_STATUS: dict[ToolErrorType, int] = {
    "unknown_tool": 404,
    "not_allowed": 403,
    "unparsable_arguments": 400,
    "invalid_arguments": 422,
    "tool_error": 400,
    "tool_unavailable": 502,
    "timeout": 504,
    "reset": 502,
    "malformed_result": 502,
    "replay_miss": 424,
    "limit_reached": 403,
}

_NOT_OF_STATE = frozenset({401, 403, 407, 408, 425, 429})
"""Statuses that are about the harness's own credentials and request rate."""

TOOL_STATUSES: dict[int, tuple[ToolErrorType, ...]] = {
    status: tuple(kind for kind, its in _STATUS.items() if its == status) for status in sorted({*_STATUS.values()})
}
"""What a call can be answered with other than its result."""


@dataclass(frozen=True, kw_only=True)
class CallFailure:
    """A call that failed. If `status` is None, the default status of the type applies."""

    type: ToolErrorType
    message: str
    status: int | None = None
    body: JsonValue = None
    """The text that the tool itself sent; set only for a tool_error."""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def http_status(self) -> int:
        return self.status or _STATUS[self.type]

    @property
    def is_of_state(self) -> bool:
        """Whether a probe failed because of the data it was to read: the tool refused it, or its answer is too large.

        Other failures are failures to reach the tool; they say nothing about the state.
        """
        refused = self.type == "tool_error" and self.status not in _NOT_OF_STATE
        return refused or self.type == "malformed_result"

    @property
    def http_headers(self) -> dict[str, str]:
        # Many clients retry these statuses by themselves; a retry of this call would get the same answer.
        retry = {"x-should-retry": "false"} if self.type == "replay_miss" else {}
        return self.headers | retry

    @property
    def content(self) -> JsonObject:
        """The JSON that the agent receives."""
        error: JsonObject = {"type": self.type, "message": self.message}
        if self.type == "tool_error":
            error["body"] = self.body
        return {"error": error}

    def encoded(self) -> bytes:
        return json.dumps(self.content).encode()


def result_of(tool: ToolSpec, answer: ToolAnswer) -> JsonValue | CallFailure:
    """The tool's JSON, or the failure. The message depends on the answer only, so that live and replayed calls
    agree.
    """
    return broken(tool.name, tool.timeout_s, answer) or _result_or_failure(tool, answer)


def broken(name: str, timeout_s: float, answer: ToolAnswer) -> CallFailure | None:
    """Why a tool or a host gave no whole answer; None: it gave one."""
    match answer.outcome:
        case "timeout":
            return CallFailure(type="timeout", message=f"{name} gave no answer within {timeout_s:g} s")
        case "reset":
            how = "before it had answered" if answer.status == 0 else "in the middle of its answer"
            return CallFailure(type="reset", message=f"{name} closed the connection {how}")
        case "unreachable":
            return CallFailure(type="tool_unavailable", message=f"{name} cannot be reached")
        case "oversized":
            return _malformed(name, f"more than {MAX_ANSWER_BYTES} bytes")
        case "garbled":
            return _malformed(name, answer.body.decode("utf-8", "replace") or _UNREADABLE)
        case "answer":
            return None


_UNREADABLE = "something that is not HTTP, or an encoding or a part of a body that it was not asked for"


def _result_or_failure(tool: ToolSpec, answer: ToolAnswer) -> JsonValue | CallFailure:
    match answer.status // 100:
        case 2:
            return _parsed_result(tool, answer)
        case 4:
            return CallFailure(
                type="tool_error",
                message=f"{tool.name} refused the call: {answer.status} {status_phrase(answer.status)}".rstrip(),
                status=answer.status,
                body=_error_body(answer.body),
                headers=_retry_after(answer.headers),
            )
        case 5:
            return CallFailure(type="tool_unavailable", message=f"{tool.name} failed with status {answer.status}")
        case _:
            return _malformed(tool.name, f"status {answer.status}, which is no answer of a tool")


def _parsed_result(tool: ToolSpec, answer: ToolAnswer) -> JsonValue | CallFailure:
    if answer.status in {204, 205} and not answer.body:
        return None
    try:
        return parse_json(answer.body)
    except NotJson as error:
        return _malformed(tool.name, f"something that is not JSON: {error}")


def _malformed(name: str, what: str) -> CallFailure:
    return CallFailure(type="malformed_result", message=f"{name} answered {what}")


def _error_body(body: bytes) -> JsonValue:
    if not body:
        return None
    try:
        return parse_json(body)
    except NotJson:
        return body.decode("utf-8", "replace")


def _retry_after(headers: Mapping[str, str]) -> dict[str, str]:
    return {"retry-after": headers["retry-after"]} if "retry-after" in headers else {}


@dataclass(kw_only=True)
class ReceivedCall:
    """A received call of a tool, request to a host, or probe. It may hold secrets, but not in its name."""

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
    stored_arguments: str | None = None
    """The arguments without secrets in canonical JSON, if the key has these; None: not determined yet."""


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

    async def given(self, call: ReceivedCall, result: CallResult, *, traced: bool) -> CallResult:
        """The result as the agent receives it: without secrets that the tool has echoed. Records the span of the call
        if it is `traced`.
        """

        def cleaned() -> tuple[CallResult, Attributes | None]:
            seen = self._redacted(result)
            return seen, self._span_attributes(call, seen) if traced else None

        return await self._concluded(call, result, cleaned)

    async def trace(self, call: ReceivedCall, result: CallResult, *, failed: bool = False) -> None:
        """Records the span of a call, without secrets; `failed` also marks a call as failed that has no failure
        value.
        """
        await self._concluded(call, result, lambda: (result, self._span_attributes(call, result)), failed=failed)

    async def _concluded(
        self,
        call: ReceivedCall,
        result: CallResult,
        work: Callable[[], tuple[CallResult, Attributes | None]],
        *,
        failed: bool = False,
    ) -> CallResult:
        ended_ns, size = time.monotonic_ns(), call.size + len(result.body)

        async def conclude() -> CallResult:
            seen, attributes = await self.large.done(size, work)
            if attributes is not None:
                name = f"{attributes[names.OPERATION] or call.kind} {call.name}"
                is_failed = failed or result.failure is not None
                self.recorder.record(name, attributes, call.started_ns, failed=is_failed, ended_ns=ended_ns)
            return seen

        # The end of the trial waits for all of a request: one of several calls begins the next one after this.
        return await self.followed(self.large.finished(size, conclude()))

    def _redacted(self, result: CallResult) -> CallResult:
        clean, failure = self.redactor, result.failure
        if failure is not None:
            body: JsonValue = json.loads(clean.for_agent(json.dumps(failure.body).encode()))
            headers = {name: clean.text(value) for name, value in failure.headers.items()}
            failure = replace(failure, message=clean.text(failure.message), body=body, headers=headers)
            return replace(result, failure=failure, content=failure.content)
        body_seen = clean.for_agent(result.body)
        return result if body_seen is result.body else replace(result, body=body_seen)

    def _span_attributes(self, call: ReceivedCall, result: CallResult) -> Attributes:
        """The attributes of a call's span; may be asked for from any thread."""
        clean, failure, arguments = self.redactor, result.failure, call.stored_arguments
        if arguments is None and call.arguments is not None:
            arguments = clean.canonical(call.arguments)
        return {
            names.OPERATION: names.EXECUTE_TOOL if call.kind in (names.TOOL, names.PROBE) else None,
            names.STEP_KIND: call.kind,
            names.PROBE_NAME: call.probe,
            names.TOOL_NAME: call.name,
            names.TOOL_CALL_ID: call.id,
            names.TOOL_ARGUMENTS: arguments,
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
        }


# Answers from a cassette, for every kind of call but model requests.


def replayed(player: Player, key: CallKey) -> ToolAnswer | ToolMiss:
    """The recorded answer to a call in the trial's current state. The status is 0 if no answer had started."""
    played = player.play(key)
    if isinstance(played, Missed):
        return ToolMiss(message=played.message, nearest=tuple(item.model_dump(mode="json") for item in played.nearest))
    recording = played.recording
    # of what breaks off, an agent receives the beginning from a host, and nothing from a tool
    begun = recording.mark.outcome == "answer" or (recording.mark.kind == "http" and bool(recording.headers))
    return ToolAnswer(
        outcome=recording.mark.outcome,
        tier=played.tier,
        provenance=recording.mark.provenance,
        status=recording.status if begun else 0,
        headers=recording.headers,
        body=recording.body,
    )


@dataclass(frozen=True)
class ReplaySource:
    """Plays one trial's cassette; reaches no service."""

    player: Player

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        return replayed(self.player, request.key)
