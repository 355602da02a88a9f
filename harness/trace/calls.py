"""Tool calls and observations, built from the gateway's spans and from a model's traffic."""

import re
from collections import Counter

from pydantic import TypeAdapter

from harness.trace import names
from harness.trace.attributes import checked, decoded_as, json_in, number, text_in
from harness.trace.replies import ObservedReply, ReplyCall, decoded
from harness.trace.span import Span
from harness.trace.trajectory import Observation, ReplayTier, Step, ToolCall, ToolErrorType, ToolFailure, Usage
from harness.values import JsonObject, JsonValue

_GATEWAYS_OWN = re.compile(r"(?:call|http)_\d+")
_ARGUMENTS: TypeAdapter[JsonObject | None] = TypeAdapter(JsonObject | None)
_ERROR: TypeAdapter[ToolErrorType | None] = TypeAdapter(ToolErrorType | None)
_TIER: TypeAdapter[ReplayTier | None] = TypeAdapter(ReplayTier | None)


def call_of(span: Span) -> ToolCall:
    return ToolCall(
        id=_call_id(span),
        name=text_in(span, names.TOOL_NAME) or "",
        arguments=decoded_as(span, names.TOOL_ARGUMENTS, _ARGUMENTS),
        unparsed=text_in(span, names.TOOL_UNPARSED),
        evidence="observed",
    )


def observation_of(span: Span) -> Observation:
    started, ended = number(span, names.STARTED_MONOTONIC), number(span, names.ENDED_MONOTONIC)
    result = text_in(span, names.TOOL_RESULT)
    error = checked(span, names.ERROR_TYPE, _ERROR)
    return Observation(
        call_id=_call_id(span),
        content=None if result is None else json_in(span, names.TOOL_RESULT, result),
        error=None if error is None else ToolFailure(type=error, message=text_in(span, names.TOOL_ERROR_MESSAGE) or ""),
        replayed=checked(span, names.REPLAY_TIER, _TIER),
        injected=text_in(span, names.FAULT_KIND),
        duration_ms=None if started is None or ended is None else (ended - started) / 1e6,
        evidence="observed",
    )


def _call_id(span: Span) -> str:
    return text_in(span, names.TOOL_CALL_ID) or span.span_id


class ReplyCalls:
    """Calls and observations of replies; gives every call a unique id, because models repeat theirs."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._again: Counter[str] = Counter()

    def of(self, reply: ObservedReply) -> tuple[tuple[ToolCall, ...], tuple[Observation, ...]]:
        calls: list[ToolCall] = []
        seen: list[Observation] = []
        for place, call in enumerate(reply.calls):
            if call.span is not None:
                calls.append(call_of(call.span))
                seen.append(observation_of(call.span))
                continue
            made = ToolCall(
                id=self._identity(call, reply, place),
                name=call.name,
                arguments=call.arguments,
                unparsed=None if call.arguments is not None else _as_text(call.raw),
                evidence="self_reported",
            )
            calls.append(made)
            if call.result is not None:
                seen.append(_observation(call.result, made.id))
        return tuple(calls), tuple(seen)

    def _identity(self, call: ReplyCall, reply: ObservedReply, place: int) -> str:
        call_id = call.id or f"{reply.span.span_id}.{place}"
        taken = call_id in self._ids or _GATEWAYS_OWN.fullmatch(call_id) is not None
        identity = f"{call_id}@{reply.span.span_id}" if taken else call_id
        while identity in self._ids:
            self._again[call_id] += 1
            identity = f"{call_id}@{reply.span.span_id}.{self._again[call_id]}"
        self._ids.add(identity)
        return identity


def reply_step(reply: ObservedReply, agent: str, calls: ReplyCalls) -> Step:
    """A model's reply as a step without an index."""
    span = reply.span
    made, seen = calls.of(reply)
    thoughts = [text_in(call.span, names.THOUGHT) for call in reply.calls if call.span is not None]
    given = [thought for thought in (reply.thought, *thoughts) if thought]
    return Step(
        index=0,
        source="agent",
        agent=agent,
        message=reply.text,
        thought="\n".join(given) or None,
        calls=made,
        observations=seen,
        model=text_in(span, names.RESPONSE_MODEL) or text_in(span, names.REQUEST_MODEL),
        usage=_usage(span),
        started_ns=number(span, names.STARTED_MONOTONIC),
        ended_ns=number(span, names.ENDED_MONOTONIC),
        span_id=span.span_id,
        evidence="observed",
    )


def _usage(span: Span) -> Usage | None:
    cost = span.attributes.get(names.COST_USD)
    usage = Usage(
        input_tokens=number(span, names.INPUT_TOKENS),
        output_tokens=number(span, names.OUTPUT_TOKENS),
        cost_usd=float(cost) if isinstance(cost, int | float) else None,
    )
    return None if usage == Usage() else usage


def _observation(result: JsonObject, call_id: str) -> Observation:
    """The result of the call as the agent sent it to the model."""
    response = result.get("response")
    content = decoded(response) if isinstance(response, str) else response
    failed = result.get("is_error") is True
    return Observation(
        call_id=call_id,
        content=content if isinstance(content, dict | list) else response,
        error=ToolFailure(type="tool_error", message=_as_text(response)[:500]) if failed else None,
        evidence="self_reported",
    )


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else str(value)
