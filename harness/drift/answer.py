"""An answer of a tool as it is compared: status, media type and a JSON value."""

import hashlib
import json
from dataclasses import dataclass

from harness.cassette.momentary import is_momentary
from harness.cassette.recording import Recording
from harness.frozen import JsonValue

_WORDS = {"timeout": "gave no answer in time", "reset": "closed the connection"}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a tool answered."""

    status: int
    media: str | None
    """Without parameters; None: not told."""
    value: JsonValue
    """Texts that hold a JSON object or list are read: tools of MCP answer so."""
    body: bytes = b""
    """As it came."""
    unavailable: str | None = None
    """Why there was no answer to compare: overload, failure, silence. That is never drift."""

    @property
    def is_error(self) -> bool:
        return self.status >= 400

    @property
    def group(self) -> str:
        """Answers of one group have one shape: all good ones, and those of each error."""
        return str(self.status) if self.is_error else "ok"


def answer_of(recording: Recording) -> Answer:
    """What a recording holds."""
    status, outcome = recording.status, recording.mark.outcome
    reason = _WORDS.get(outcome)
    if reason is None and (status >= 500 or is_momentary(status)):
        reason = f"answered {status}"
    media = recording.headers.get("content-type", "").partition(";")[0].strip().lower() or None
    value = None if reason is not None else _read(recording.body)
    return Answer(status=status, media=media, value=value, body=recording.body, unavailable=reason)


def _read(body: bytes) -> JsonValue:
    if not body:
        return None
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return f"{len(body)} bytes, sha256 {hashlib.sha256(body).hexdigest()}"
    try:
        value: JsonValue = json.loads(text)
        if "\\ud" in text.lower():
            # Halves of characters are legal in JSON and in nothing that a report could be written in.
            whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
            value = json.loads(whole)
        return _unfolded(value)
    except (ValueError, RecursionError):
        return text


def _unfolded(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {name: _unfolded(item) for name, item in value.items()}
        case list():
            return [_unfolded(item) for item in value]
        case str() if value[:1] in {"{", "["} and value.rstrip()[-1:] in {"}", "]"}:
            try:
                return _unfolded(json.loads(value))
            except (ValueError, RecursionError):
                return value
        case _:
            return value
