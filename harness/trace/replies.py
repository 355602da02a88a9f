"""Model replies as they passed the gateway, joined with the results of their calls.

A model's call is one call, wherever it appears: in the reply, in the history of every later request, and as the
gateway's own tool span. The gateway's span is more reliable and is preferred; a call that never passed the gateway (of
a tool inside the agent's own program) is read from the history.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.strict_json import parse_json
from harness.trace import names
from harness.trace.joined_calls import JoinedCalls
from harness.trace.span import Span
from harness.values import JsonObject, JsonValue


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
        """The arguments; None where the model wrote no JSON object."""
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
        return _objects(self.span.attributes.get(names.INPUT_MESSAGES))

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
    """The JSON value of a text; the text itself where it is not JSON, or exceeds the limits of `strict_json`."""
    try:
        return parse_json(text.encode("utf-8"))
    except ValueError:  # NotJson, or half of a surrogate pair
        return text


def texts_of(message: JsonObject, kind: str = "text") -> str | None:
    """The joined text of the parts of one kind."""
    found = [part.get("content") for part in _objects(message.get("parts")) if part.get("type") == kind]
    return "\n".join(text for text in found if isinstance(text, str) and text) or None


def _reply(span: Span) -> ObservedReply:
    message: JsonObject = next(iter(_objects(span.attributes.get(names.OUTPUT_MESSAGES))), {})
    calls = [part for part in _objects(message.get("parts")) if part.get("type") == "tool_call"]
    return ObservedReply(
        span=span,
        text=texts_of(message),
        thought=texts_of(message, "reasoning"),
        calls=[
            ReplyCall(id=_text(part.get("id")), name=_text(part.get("name")) or "", raw=part.get("arguments"))
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
    """Assigns results by call id; where an id occurs more than once, its results belong to its calls in order."""
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
    for part in (part for message in reply.asked for part in _objects(message.get("parts"))):
        identity = _text(part.get("id"))
        if part.get("type") == "tool_call_response" and identity is not None:
            by_call.setdefault(identity, []).append(part)
    return by_call


def _objects(value: JsonValue) -> list[JsonObject]:
    plain = decoded(value) if isinstance(value, str) else value
    return [item for item in plain if isinstance(item, dict)] if isinstance(plain, list) else []


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None
