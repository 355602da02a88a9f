"""Tool calls and observations, built from the gateway's spans, from model replies and from the agent's own spans."""

import json
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from harness.errors import ResultsError
from harness.suite.problems import first_words
from harness.traces import names
from harness.traces.replies import ObservedReply, ReplyCall, decoded
from harness.traces.spans import Span
from harness.traces.trajectory import Observation, ReplayTier, Step, ToolCall, ToolErrorType, ToolFailure, Usage
from harness.values import JsonObject

# Reads the attributes of a trial's spans; raises ResultsError for attributes that this harness would not write.

T = TypeVar("T")


def began(span: Span) -> tuple[int, int]:
    began = number(span, names.STARTED_MONOTONIC)
    return (span.start_ns, 0) if began is None else (began, span.start_ns)


def text_in(span: Span, name: str) -> str | None:
    value = span.attributes.get(name)
    return None if value is None else str(value)


def number(span: Span, name: str) -> int | None:
    value = span.attributes.get(name)
    return value if isinstance(value, int) else None


def decoded_as(span: Span, name: str, shape: TypeAdapter[T]) -> T:
    text = text_in(span, name)
    return shaped(span, name, None if text is None else json_in(span, name, text), shape)


def checked(span: Span, name: str, shape: TypeAdapter[T]) -> T:
    return shaped(span, name, span.attributes.get(name), shape)


def shaped(span: Span, name: str, value: object, shape: TypeAdapter[T]) -> T:
    try:
        return shape.validate_python(value)
    except ValidationError as error:
        raise ResultsError(f"span {span.span_id}: attribute {name!r}: {first_words(error)[1]}") from None


def json_in(span: Span, name: str, text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except ValueError as error:
        raise ResultsError(f"span {span.span_id}: attribute {name!r} is not JSON: {error}") from None
    return value


_GATEWAYS_OWN = re.compile(r"(?:call|http)_\d+")
_ARGUMENTS_SHAPE: TypeAdapter[JsonObject | None] = TypeAdapter(JsonObject | None)
_ERROR_SHAPE: TypeAdapter[ToolErrorType | None] = TypeAdapter(ToolErrorType | None)
_TIER_SHAPE: TypeAdapter[ReplayTier | None] = TypeAdapter(ReplayTier | None)


def call_of(span: Span) -> ToolCall:
    return ToolCall(
        id=_call_id(span),
        name=text_in(span, names.TOOL_NAME) or "",
        arguments=decoded_as(span, names.TOOL_ARGUMENTS, _ARGUMENTS_SHAPE),
        unparsed=text_in(span, names.TOOL_UNPARSED),
        evidence="observed",
    )


def observation_of(span: Span) -> Observation:
    started, ended = number(span, names.STARTED_MONOTONIC), number(span, names.ENDED_MONOTONIC)
    result = text_in(span, names.TOOL_RESULT)
    error = checked(span, names.ERROR_TYPE, _ERROR_SHAPE)
    return Observation(
        call_id=_call_id(span),
        content=None if result is None else json_in(span, names.TOOL_RESULT, result),
        error=None if error is None else ToolFailure(type=error, message=text_in(span, names.TOOL_ERROR_MESSAGE) or ""),
        replayed=checked(span, names.REPLAY_TIER, _TIER_SHAPE),
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

    def of(self, reply: ObservedReply, crossed: Sequence[Span]) -> tuple[tuple[ToolCall, ...], tuple[Observation, ...]]:
        """The calls of the reply's step: `crossed` in their order, and each that never crossed behind those that the
        reply names before it.
        """
        at = {span.span_id: place for place, span in enumerate(crossed)}
        calls = {(place, 0): call_of(span) for place, span in enumerate(crossed)}
        seen = {(place, 0): observation_of(span) for place, span in enumerate(crossed)}
        behind = -1
        for place, call in enumerate(reply.calls):
            if call.span is not None:
                behind = max(behind, at.get(call.span.span_id, -1))
                continue
            made = ToolCall(
                id=self._identity(call, reply, place),
                name=call.name,
                arguments=call.arguments,
                unparsed=None if call.arguments is not None else _as_text(call.raw),
                evidence="self_reported",
            )
            calls[behind, place + 1] = made
            if call.result is not None:
                seen[behind, place + 1] = _observation(call.result, made.id)
        return tuple(calls[key] for key in sorted(calls)), tuple(seen[key] for key in sorted(seen))

    def _identity(self, call: ReplyCall, reply: ObservedReply, place: int) -> str:
        call_id = call.id or f"{reply.span.span_id}.{place}"
        taken = call_id in self._ids or _GATEWAYS_OWN.fullmatch(call_id) is not None
        identity = f"{call_id}@{reply.span.span_id}" if taken else call_id
        while identity in self._ids:
            self._again[call_id] += 1
            identity = f"{call_id}@{reply.span.span_id}.{self._again[call_id]}"
        self._ids.add(identity)
        return identity


def reply_step(reply: ObservedReply, crossed: Sequence[Span], agent: str, calls: ReplyCalls) -> Step:
    """A model's reply, and those of its calls that crossed before another step, as a step without an index."""
    span = reply.span
    made, seen = calls.of(reply, crossed)
    thoughts = [text_in(call, names.THOUGHT) for call in crossed]
    # Beside calls, wherever they crossed, a text is narration: alone it would be read as a reply to the user.
    narrated = reply.text if reply.calls and not made else None
    given = [thought for thought in (reply.thought, narrated, *thoughts) if thought]
    return Step(
        index=0,
        source="agent",
        agent=agent,
        message=None if narrated else reply.text,
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


# Tool calls that appear only in the agent's own OpenTelemetry spans: made inside its program, and in no model's reply.

_IS_TOOL = {"gen_ai.operation.name": "execute_tool", "openinference.span.kind": "TOOL"}
_NAMES = ("gen_ai.tool.name", "tool.name")
_IDS = ("gen_ai.tool.call.id", "tool_call.id")
_ARGUMENT_NAMES = ("gen_ai.tool.call.arguments", "input.value", "tool.parameters")
_RESULT_NAMES = ("gen_ai.tool.call.result", "output.value")


def tool_spans(spans: Iterable[Span]) -> list[Span]:
    """The agent's own spans of tool calls; of nested ones with the same name, only the outermost."""
    own = {span.span_id: span for span in spans if span.attributes.get(names.ORIGIN) == "agent"}
    found = [span for span in own.values() if any(span.attributes.get(key) == kind for key, kind in _IS_TOOL.items())]
    inner = _inside_their_like(own)
    return [span for span in found if span.span_id not in inner]


def fill_results(replies: Sequence[ObservedReply], spans: Sequence[Span]) -> None:
    """Sets the missing results of calls from the agent's span with the same id."""
    by_id = {str(identity): span for span in spans if (identity := _first_attribute(span, _IDS)) is not None}
    for call in (call for reply in replies for call in reply.calls):
        span = by_id.get(call.id or "")
        result = None if span is None else _first_attribute(span, _RESULT_NAMES)
        if call.span is None and call.result is None and result is not None:
            call.result = {"response": result}


def unseen(spans: Sequence[Span], seen: Iterable[str]) -> list[Span]:
    """Tool calls that neither a model's reply nor the gateway has recorded; others would be counted twice."""
    known = _KnownEnds(seen)
    is_known = {reported: known.fits(reported) for reported in {*map(_name, spans)}}
    return [span for span in spans if not is_known[_name(span)]]


class _KnownEnds:
    """Names of which one ends with another, found without comparing each with each: an agent chooses their number."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = set(known)
        self._lengths = {len(name) for name in self._known}
        self._turned = sorted(name[::-1] for name in self._known)

    def fits(self, name: str) -> bool:
        """Whether it ends with a known name, or a known name ends with it."""
        turned = name[::-1]
        at = bisect_left(self._turned, turned)
        if at < len(self._turned) and self._turned[at].startswith(turned):
            return True
        return any(name[len(name) - length :] in self._known for length in self._lengths if length <= len(name))


def own_step(span: Span, agent: str) -> Step:
    """Such a call as a step without an index."""
    given, result = (
        _decoded_value(_first_attribute(span, _ARGUMENT_NAMES)),
        _decoded_value(_first_attribute(span, _RESULT_NAMES)),
    )
    arguments = given if isinstance(given, dict) else {} if given is None else None
    failed = span.status == "error"
    return Step(
        index=0,
        source="agent",
        agent=agent,
        calls=(
            ToolCall(
                id=span.span_id,
                name=_name(span),
                arguments=arguments,
                unparsed=None if arguments is not None else str(given),
                evidence="self_reported",
            ),
        ),
        observations=(
            Observation(
                call_id=span.span_id,
                content=result,
                error=ToolFailure(type="tool_error", message="") if failed else None,
                duration_ms=(span.end_ns - span.start_ns) / 1e6,
                evidence="self_reported",
            ),
        ),
        span_id=span.span_id,
        evidence="self_reported",
    )


def _inside_their_like(own: Mapping[str, Span]) -> set[str]:
    """The ids of the spans that are nested, at any depth, in a span of the same name. Takes linear time."""
    within: defaultdict[str, list[str]] = defaultdict(list)
    for identity, span in own.items():
        within[span.parent_id or ""].append(identity)
    above: Counter[str] = Counter()
    inner: set[str] = set()
    left = [(identity, True) for identity, span in own.items() if (span.parent_id or "") not in own]
    while left:
        identity, enters = left.pop()
        name = _name(own[identity])
        if not enters:
            above[name] -= 1
            continue
        if above[name]:
            inner.add(identity)
        above[name] += 1
        left.append((identity, False))
        left += [(child, True) for child in within[identity]]
    return inner


def _name(span: Span) -> str:
    return str(_first_attribute(span, _NAMES) or span.name.removeprefix("execute_tool "))


def _first_attribute(span: Span, keys: Sequence[str]) -> JsonValue:
    return next((span.attributes[key] for key in keys if span.attributes.get(key) is not None), None)


def _decoded_value(value: JsonValue) -> JsonValue:
    plain = decoded(value) if isinstance(value, str) else value
    return plain if isinstance(plain, dict | list) else value
