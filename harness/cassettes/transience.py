"""Which answers are failures of the moment, judged by status, body and stream in one place: an agent receives them, and
no cassette keeps them.

Tools and web hosts   408, 425, 429, 502, 503 and 504, and 520 to 530, by which proxies say that they do not reach a
                      service. A 500 or a 409 is the service's answer to the call, and an agent that gets one must
                      cope with it in a replay too. Their bodies are their own.
Models                these, 409 (the provider's own locks) and every 5xx: no failure of a provider depends on the
                      request. Also what a success contains in place of a reply: an error, before or after a part
                      of it; a stream without its end; a body that holds no reply.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Final

from harness.cassettes.recordings import Kind, Outcome, Recording
from harness.values import JsonObject, object_of, objects_of

_TRANSIENT: Final = frozenset({408, 425, 429, 502, 503, 504, *range(520, 531)})
_ENDS: Final = frozenset({"message_stop", "response.completed", "response.incomplete"})
_BROKEN: Final = re.compile(r"\w*error|abort\w*|cancel\w*|insufficient_\w+", re.IGNORECASE)
"""Reasons to stop that providers give for a failure of their own."""
_FAILED: Final = ("error", "failed", "cancelled", "response.failed")
_REASONS: Final = ("finish_reason", "finishReason", "stop_reason")


def is_transient(status: int, kind: Kind = "tool") -> bool:
    """Whether the status alone is a transient error."""
    return status in _TRANSIENT or (kind == "model" and (status == 409 or status >= 500))


def is_failure(recording: Recording) -> bool:
    """Whether a recording holds a failure of the moment: written by hand, or by another program."""
    mark = recording.mark
    return failure_of(mark.kind, recording.status, recording.body, outcome=mark.outcome) is not None


def failure_of(
    kind: Kind,
    status: int,
    body: bytes = b"",
    *,
    outcome: Outcome = "answer",
    is_reply: bool = False,
    said: "Said | None" = None,
) -> str | None:
    """In a word why the answer is a failure of the moment; None: it is an answer to the request.

    `is_reply`: the request was for a model's reply, so that a body without one is none. `said`: the events in the body.
    """
    if outcome != "answer":
        return outcome
    if is_transient(status, kind):
        return str(status)
    if kind != "model" or status // 100 != 2:
        return None
    events, is_stream = events_in(body) if said is None else said
    if any(map(_tells_error, events)):
        return "provider_error"
    if is_stream and (is_reply or not body.lstrip().startswith(b"[")):
        return None if _has_ended(events) else "incomplete"
    return None if events and (not is_reply or _holds_reply(events[0])) else "no_reply"


def _tells_error(event: JsonObject) -> bool:
    response, choices = object_of(event.get("response")), _choices(event)
    places = [event, response, object_of(event.get("x_groq")), *choices]
    words = [event.get("type"), event.get("object"), event.get("status"), response.get("status")]
    reasons = [place.get(name) for place in (event, object_of(event.get("delta")), *choices) for name in _REASONS]
    return (
        any(place.get("error") for place in places)
        or (_is_code_with_message(event) and not choices)
        or any(word in _FAILED for word in words)
        or any(isinstance(reason, str) and _BROKEN.fullmatch(reason) for reason in reasons)
    )


def _is_code_with_message(event: JsonObject) -> bool:
    """Whether an object is nothing but an error, which some gateways do not name so."""
    message = event.get("message", event.get("msg"))
    return bool(event.get("code")) and isinstance(message, str) and "data" not in event


def _has_ended(events: list[JsonObject]) -> bool:
    """Whether the stream has its last event: one that says so, or a reason to stop for each choice that it began."""
    begun, ended = set[str](), set[str]()
    for event in events:
        if str(event.get("type")) in _ENDS or object_of(event.get("promptFeedback")).get("blockReason"):
            return True
        for choice in _choices(event):
            index = str(choice.get("index") or 0)
            begun.add(index)
            ended |= {index} if any(choice.get(name) for name in _REASONS) else set()
    return bool(begun) and begun == ended


def _holds_reply(body: JsonObject) -> bool:
    """Whether something is said, or a reason told why nothing is."""
    if isinstance(body.get("output"), list):
        return body.get("status") not in ("queued", "in_progress")
    told = [(one, object_of(one.get("message", one.get("content")))) for one in _choices(body)]
    told += [(body, {"content": body["content"]})] if isinstance(body.get("content"), list) else []
    return bool(object_of(body.get("promptFeedback")).get("blockReason")) or any(
        (said or "message" not in one)
        and (any(one.get(name) for name in _REASONS) or any(said[name] for name in said if name != "role"))
        for one, said in told
    )


def _choices(event: JsonObject) -> list[JsonObject]:
    """The alternatives of a reply, which Gemini calls candidates."""
    return objects_of(event.get("choices")) + objects_of(event.get("candidates"))


# The events of a body: server-sent events, or JSON values one after the other, which is also how an array is streamed.

_SSE: Final = (b"data:", b"event:", b"id:", b"retry:", b":")
_DONE: Final = "[DONE]"
_BETWEEN: Final = " \t\r\n,["


Said = tuple[list[JsonObject], bool]


def events_in(body: bytes) -> Said:
    """The events that are JSON objects, in order, without a truncated last one; and whether they are streamed."""
    start = body.removeprefix(codecs.BOM_UTF8).lstrip()
    if start.startswith(_SSE):
        return list(_server_sent(start)), True
    values = list(_values(start))
    return values, start.startswith(b"[") or len(values) > 1


def _server_sent(body: bytes) -> Iterator[JsonObject]:
    text = body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    for block in text.split("\n\n"):
        fields = [line.partition(":")[::2] for line in block.split("\n")]
        data = "\n".join(value.removeprefix(" ") for name, value in fields if name == "data")
        failed = any(name == "event" and value.strip() == "error" for name, value in fields)
        try:
            value = json.loads(data, parse_constant=lambda _: None) if data and data != _DONE else None
        except (ValueError, RecursionError):
            value = None  # a truncated event at the end of the stream, or an error in plain words
        if failed:
            yield {"error": value or data or True}
        elif isinstance(value, dict):
            yield value


def _values(body: bytes) -> Iterator[JsonObject]:
    text, decoder = body.decode("utf-8", "replace"), json.JSONDecoder(parse_constant=lambda _: None)
    at = 0
    while True:
        while at < len(text) and text[at] in _BETWEEN:
            at += 1
        try:
            item, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return  # the end, or that of the received part
        if isinstance(item, dict):
            yield item
