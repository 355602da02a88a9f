"""Tool calls that appear only in the agent's own OpenTelemetry spans: made inside its program, and in no
model's reply.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from harness.trace import names
from harness.trace.replies import ObservedReply, decoded
from harness.trace.span import Span
from harness.trace.trajectory import Observation, Step, ToolCall, ToolFailure
from harness.values import JsonValue

_IS_TOOL = {"gen_ai.operation.name": "execute_tool", "openinference.span.kind": "TOOL"}
_NAMES = ("gen_ai.tool.name", "tool.name")
_IDS = ("gen_ai.tool.call.id", "tool_call.id")
_ARGUMENTS = ("gen_ai.tool.call.arguments", "input.value", "tool.parameters")
_RESULTS = ("gen_ai.tool.call.result", "output.value")


def tool_spans(spans: Iterable[Span]) -> list[Span]:
    """The agent's own spans of tool calls; of nested ones with the same name, only the outermost."""
    own = {span.span_id: span for span in spans if span.attributes.get(names.ORIGIN) == "agent"}
    found = [span for span in own.values() if any(span.attributes.get(key) == kind for key, kind in _IS_TOOL.items())]
    inner = _inside_their_like(own)
    return [span for span in found if span.span_id not in inner]


def fill_results(replies: Sequence[ObservedReply], spans: Sequence[Span]) -> None:
    """Sets the missing results of calls from the agent's span with the same id."""
    by_id = {str(identity): span for span in spans if (identity := _first(span, _IDS)) is not None}
    for call in (call for reply in replies for call in reply.calls):
        span = by_id.get(call.id or "")
        result = None if span is None else _first(span, _RESULTS)
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
    given, result = _value(_first(span, _ARGUMENTS)), _value(_first(span, _RESULTS))
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
    return str(_first(span, _NAMES) or span.name.removeprefix("execute_tool "))


def _first(span: Span, keys: Sequence[str]) -> JsonValue:
    return next((span.attributes[key] for key in keys if span.attributes.get(key) is not None), None)


def _value(value: JsonValue) -> JsonValue:
    plain = decoded(value) if isinstance(value, str) else value
    return plain if isinstance(plain, dict | list) else value
