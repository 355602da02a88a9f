"""Server-sent events: the JSON objects of a stream, in order."""

import json

from harness.values import JsonObject

_END = "[DONE]"


def events_of(body: bytes) -> list[JsonObject]:
    """The data of each event that is a JSON object; comments and the closing marker are skipped."""
    text = body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    found: list[JsonObject] = []
    for block in text.split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        data = "\n".join(lines)
        if not data or data == _END:
            continue
        try:
            value = json.loads(data, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            continue  # a truncated event at the end of the stream
        if isinstance(value, dict):
            found.append(value)
    return found
