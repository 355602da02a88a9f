"""Model replies as they passed the gateway, joined with the results of their calls.

A model's call is one call, wherever it appears: in the reply, in the history of every later request, and as the
gateway's own tool span. The gateway's span is more reliable and is preferred; a call that never passed the gateway (of
a tool inside the agent's own program) is read from the history.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from harness.traces import names
from harness.traces.spans import Span
from harness.values import JsonObject, canonical_json, objects_of, parse_json, some_text

# An agent decides how many there are of both, so no text is parsed twice, and calls are found by their arguments.

_SEPARATORS = "_-./:"


class NamedCall(Protocol):
    """A call as a model's reply has it."""

    name: str

    @property
    def arguments(self) -> JsonObject | None: ...


class _Calls:
    """The calls that may be the call of one tool; of several that fit, the latest reply's first one counts."""

    def __init__(self, calls: Sequence[tuple[int, NamedCall]]) -> None:
        """`calls`: each with the start of its reply, in the order in which they count, the last one first."""
        self.starts = [start for start, _ in calls]
        self.calls = [call for _, call in calls]
        self.arguments = [call.arguments or {} for call in self.calls]
        self.all = list(range(len(calls)))
        self.equal: defaultdict[str, list[int]] = defaultdict(list)
        for place, arguments in enumerate(self.arguments):
            self.equal[canonical_json(arguments)].append(place)
        self._items: list[frozenset[tuple[str, str]]] | None = None

    @property
    def items(self) -> list[frozenset[tuple[str, str]]]:
        """The arguments of each call that have a value."""
        if self._items is None:
            self._items = [
                _items_of({name: value for name, value in one.items() if value is not None}) for one in self.arguments
            ]
        return self._items


class JoinedCalls:
    """Which call each span belongs to: one with equal arguments, else one whose arguments a framework has completed,
    else one whose arguments it has rewritten; each over all spans before the next.
    """

    def __init__(self, replies: Sequence[tuple[int, Sequence[NamedCall]]]) -> None:
        """`replies`: the start of each reply, and its calls."""
        ordered = sorted(replies, key=lambda reply: reply[0])
        self._calls = [(start, call) for start, calls in ordered for call in reversed(calls)]
        self._by_name: dict[str, _Calls] = {}
        self._claimed: set[int] = set()

    def join(self, spans: Sequence[tuple[int, str, JsonObject]]) -> Mapping[int, NamedCall]:
        """`spans`: start, name and arguments of each. The place of a span -> its call."""
        found: dict[int, NamedCall] = {}
        for alike in (self._equal, self._completed, self._last_free_call):
            for place, (start, name, arguments) in enumerate(spans):
                if place not in found:
                    call = self._first_matching_call(alike, start, name, arguments)
                    if call is not None:
                        found[place] = call
        return found

    def _first_matching_call(
        self, alike: Callable[[_Calls, JsonObject, int], int | None], start: int, name: str, arguments: JsonObject
    ) -> NamedCall | None:
        if name not in self._by_name:
            self._by_name[name] = _Calls([one for one in self._calls if same_name(one[1].name, name)])
        calls = self._by_name[name]
        place = alike(calls, arguments, bisect_right(calls.starts, start))
        if place is None:
            return None
        self._claimed.add(id(calls.calls[place]))
        return calls.calls[place]

    def _equal(self, calls: _Calls, arguments: JsonObject, before: int) -> int | None:
        return self._last_free_place(calls, calls.equal.get(canonical_json(arguments), []), before)

    def _last_free_call(self, calls: _Calls, arguments: JsonObject, before: int) -> int | None:
        del arguments
        return self._last_free_place(calls, calls.all, before)

    def _completed(self, calls: _Calls, arguments: JsonObject, before: int) -> int | None:
        made = _items_of(arguments)
        for place in range(before - 1, -1, -1):
            if calls.items[place] <= made and id(calls.calls[place]) not in self._claimed:
                return place
        return None

    def _last_free_place(self, calls: _Calls, places: list[int], before: int) -> int | None:
        """The last of the places before `before` that is free; those that are not are removed."""
        at = bisect_left(places, before) - 1
        while at >= 0:
            place = places.pop(at)
            if id(calls.calls[place]) not in self._claimed:
                return place
            at -= 1
        return None


def same_name(given: str, name: str) -> bool:
    """Whether the names are equal up to a server prefix of frameworks: `mcp__harness__look` is `look`."""
    return given == name or (given.endswith(name) and given[-len(name) - 1] in _SEPARATORS)


def _items_of(arguments: JsonObject) -> frozenset[tuple[str, str]]:
    return frozenset((name, canonical_json(value)) for name, value in arguments.items())


@dataclass(kw_only=True)
class ReplyCall:
    """A call in a reply; `span` is the gateway's span of the call, `result` the result in the next request's
    history.
    """

    id: str | None
    name: str
    raw: JsonValue
    span: Span | None = None
    result: JsonObject | None = None

    @property
    def arguments(self) -> JsonObject | None:
        """The arguments; None if the model wrote no JSON object."""
        value = self.raw if not isinstance(self.raw, str) else decoded(self.raw)
        if value is None or self.raw == "":
            return {}
        return value if isinstance(value, dict) else None


@dataclass(kw_only=True)
class ObservedReply:
    """One reply of a model."""

    span: Span
    text: str | None
    thought: str | None
    calls: list[ReplyCall] = field(default_factory=list)

    @property
    def asked(self) -> list[JsonObject]:
        """The messages of the request."""
        return _objects_in(self.span.attributes.get(names.INPUT_MESSAGES))

    @property
    def goes_on(self) -> bool:
        """Whether the provider stores the history, so that the request contains only new messages."""
        return self.span.attributes.get(names.PREVIOUS_RESPONSE) is not None


def replies_in(spans: Sequence[Span]) -> list[ObservedReply]:
    """The replies among the spans, in order, joined with the tool spans and with the histories."""
    replies = [_reply(span) for span in spans if names.OUTPUT_MESSAGES in span.attributes]
    _join_spans(replies, [span for span in spans if span.attributes.get(names.STEP_KIND) == names.TOOL])
    _join_histories(replies)
    return replies


def decoded(text: str) -> JsonValue:
    """The JSON value of a text; the text itself if it is not JSON, or exceeds the limits of `parse_json`."""
    try:
        return parse_json(text.encode("utf-8"))
    except ValueError:  # NotJson, or half of a surrogate pair
        return text


def texts_of(message: JsonObject, kind: str = "text") -> str | None:
    """The joined text of the parts of one kind."""
    found = [part.get("content") for part in _objects_in(message.get("parts")) if part.get("type") == kind]
    return "\n".join(text for text in found if isinstance(text, str) and text) or None


def _reply(span: Span) -> ObservedReply:
    message: JsonObject = next(iter(_objects_in(span.attributes.get(names.OUTPUT_MESSAGES))), {})
    calls = [part for part in _objects_in(message.get("parts")) if part.get("type") == "tool_call"]
    return ObservedReply(
        span=span,
        text=texts_of(message),
        thought=texts_of(message, "reasoning"),
        calls=[
            ReplyCall(
                id=some_text(part.get("id")),
                name=some_text(part.get("name")) or "",
                raw=part.get("arguments"),
            )
            for part in calls
        ],
    )


def _join_spans(replies: Sequence[ObservedReply], tools: Sequence[Span]) -> None:
    if not any(reply.calls for reply in replies):
        return  # a program without a model: its spans' arguments need not be read
    joined = JoinedCalls([(reply.span.start_ns, reply.calls) for reply in replies])
    spans = [(span.start_ns, str(span.attributes.get(names.TOOL_NAME)), _arguments(span)) for span in tools]
    for place, call in joined.join(spans).items():
        if isinstance(call, ReplyCall):
            call.span = tools[place]


def _arguments(span: Span) -> JsonObject:
    value = decoded(str(span.attributes.get(names.TOOL_ARGUMENTS, "{}")))
    return value if isinstance(value, dict) else {}


def _join_histories(replies: Sequence[ObservedReply]) -> None:
    """Assigns results by call id; if an id occurs more than once, its results belong to its calls in order."""
    made: defaultdict[str, list[ReplyCall]] = defaultdict(list)
    for reply in replies:
        for identity, results in _results(reply).items():
            waiting = [call for call in made[identity] if call.result is None]
            new = results if reply.goes_on else results[len(made[identity]) - len(waiting) :]
            for call, result in zip(waiting, new, strict=False):
                call.result = result
        for call in reply.calls:
            if call.id is not None:
                made[call.id].append(call)


def _results(reply: ObservedReply) -> dict[str, list[JsonObject]]:
    """The results in a request, by the id of their call."""
    by_call: dict[str, list[JsonObject]] = {}
    for part in (part for message in reply.asked for part in _objects_in(message.get("parts"))):
        identity = some_text(part.get("id"))
        if part.get("type") == "tool_call_response" and identity is not None:
            by_call.setdefault(identity, []).append(part)
    return by_call


def _objects_in(value: JsonValue) -> list[JsonObject]:
    return objects_of(decoded(value) if isinstance(value, str) else value)
