"""The events of a streamed reply, in both forms in which providers stream."""

import json
from typing import Literal

from harness.upstream.model.wire.sse import events_of
from harness.values import JsonObject

Framing = Literal["sse", "array"]
"""Server-sent events; a JSON array whose items are streamed."""
_BETWEEN = " \t\r\n,["


def events_in(body: bytes, framing: Framing) -> list[JsonObject]:
    """The events that are JSON objects, in order; a truncated last event is omitted."""
    match framing:
        case "sse":
            return events_of(body)
        case "array":
            return _items_of(body)


def _items_of(body: bytes) -> list[JsonObject]:
    text, decoder = body.decode("utf-8", "replace"), json.JSONDecoder(parse_constant=lambda _: None)
    found: list[JsonObject] = []
    at = 0
    while True:
        while at < len(text) and text[at] in _BETWEEN:
            at += 1
        try:
            item, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found  # the end of the array, or of its received part
        if isinstance(item, dict):
            found.append(item)
