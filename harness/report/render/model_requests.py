"""Requests to the agent's model and the answers."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from harness.report.render.wording import UNKNOWN
from harness.trace import Span, names
from harness.values import JsonObject, JsonValue

_SENT = (
    ("options", names.MODEL_OPTIONS),
    ("goes on from the reply", names.PREVIOUS_RESPONSE),
    ("system", names.SYSTEM),
    ("tools", names.TOOL_DEFINITIONS),
)


def model_requests(spans: Sequence[Span]) -> list[JsonObject]:
    """Every request that passed the gateway, in the order in which they were sent; nothing is cut."""
    sent = [span for span in spans if _passed(span)]
    return [_request(span) for span in sorted(sent, key=lambda span: span.start_ns)]


def model_lines(spans: Sequence[Span]) -> Iterator[str]:
    """The same as text. Parts that a request repeats from the previous one are abbreviated."""
    before: JsonObject = {}
    requests = model_requests(spans)
    if not requests:
        yield "no request to a model passed the gateway"
    for place, request in enumerate(requests, 1):
        yield from _lines(place, request, before)
        before = request


def _passed(span: Span) -> bool:
    """Whether the gateway observed the request; an agent's own spans are not model requests."""
    return span.attributes.get(names.STEP_KIND) == names.MODEL and names.ORIGIN not in span.attributes


def _request(span: Span) -> JsonObject:
    said = span.attributes
    request: JsonObject = {
        "model": said.get(names.REQUEST_MODEL),
        "answered_by": said.get(names.RESPONSE_MODEL),
        "tier": said.get(names.REPLAY_TIER),
        "status": said.get(names.HTTP_STATUS),
        "input_tokens": said.get(names.INPUT_TOKENS),
        "output_tokens": said.get(names.OUTPUT_TOKENS),
        **{name: _read(said.get(key)) for name, key in _SENT},
        "messages": _read(said.get(names.INPUT_MESSAGES)),
        "answer": _read(said.get(names.OUTPUT_MESSAGES)),
        "error": said.get(names.ERROR_TYPE),
        "error_message": said.get(names.TOOL_ERROR_MESSAGE),
    }
    return {name: value for name, value in request.items() if value is not None}


def _read(value: JsonValue) -> JsonValue:
    """Parses lists and objects, which spans store as JSON texts."""
    if isinstance(value, str) and value[:1] in {"[", "{"}:
        try:
            read: JsonValue = json.loads(value)
        except ValueError:
            return value
        return read
    return value


def _lines(place: int, request: JsonObject, before: JsonObject) -> Iterator[str]:
    tokens = f"{request.get('input_tokens', UNKNOWN)} tokens in, {request.get('output_tokens', UNKNOWN)} out"
    yield _clean(
        f"request {place}: {request.get('model', 'no model named')} [{request.get('tier', UNKNOWN)}], {tokens}"
    )
    for name, _ in _SENT:
        if name in request:
            same = request[name] == before.get(name)
            yield from [f"  {name}: as before"] if same else _block(name, request[name])
    messages, earlier = _list(request.get("messages")), _list(before.get("messages"))
    kept = next((n for n, pair in enumerate(zip(messages, earlier, strict=False)) if pair[0] != pair[1]), None)
    shared = min(len(messages), len(earlier)) if kept is None else kept
    if shared:
        yield f"  the first {shared} message(s): as before"
    for message in messages[shared:]:
        yield from _block("message", message)
    if "answer" in request:
        yield from _block("answer", request["answer"])
    if "error" in request:
        yield _clean(f"  error {request['error']}: {request.get('error_message', '')}".rstrip(": "))


def _list(value: Any) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _block(name: str, value: JsonValue) -> Iterator[str]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    first, *rest = text.split("\n")
    yield _clean(f"  {name}: {first}")
    yield from (_clean(f"    {line}") for line in rest)


def _clean(line: str) -> str:
    """Escapes all characters that are not printable: the texts come from the agent and the model."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)
