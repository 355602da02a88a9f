"""An answer of a tool in the form that is compared: status, media type and a JSON value."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.cassette import Recording, is_transient
from harness.values import JsonValue

OK = "ok"
"""The group of successful answers."""
_WORDS = {"timeout": "gave no answer in time", "reset": "closed the connection"}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer of a tool."""

    status: int
    media: str | None
    """The media type without parameters; None where the answer has none."""
    value: JsonValue
    """Texts with a JSON object or list are parsed: MCP tools answer in this form."""
    body: bytes = b""
    """The unchanged body."""
    headers: Mapping[str, str] = field(default_factory=dict)
    unavailable: str | None = None
    """The reason why the answer contains no information: overload, failure, timeout."""
    is_silent: bool = False
    """Whether there was no answer at all."""

    @property
    def is_error(self) -> bool:
        return self.status >= 400

    @property
    def group(self) -> str:
        """Answers of one group share a shape: all successful ones, and those of each error."""
        return str(self.status) if self.is_error else OK


def answer_of(recording: Recording) -> Answer:
    """The answer in a recording."""
    status, outcome = recording.status, recording.mark.outcome
    reason = _WORDS.get(outcome)
    silent = reason is not None
    if reason is None and (status >= 500 or is_transient(status)):
        reason = f"answered {status}"
    media = recording.headers.get("content-type", "").partition(";")[0].strip().lower() or None
    return Answer(
        status=status,
        media=media,
        value=None if silent else _read(recording.body),
        body=recording.body,
        headers=recording.headers,
        unavailable=reason,
        is_silent=silent,
    )


def why_not_comparable(live: Answer, recorded: Answer) -> str | None:
    """The reason why the live answer cannot be compared; None where it can.

    A failure is unavailability, except where the recording holds the same one: then it is the service's answer.
    """
    if live.unavailable is None or (live.status == recorded.status and not live.is_silent and not recorded.is_silent):
        return None
    return live.unavailable


def _read(body: bytes) -> JsonValue:
    if not body:
        return None
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return f"{len(body)} bytes, sha256 {hashlib.sha256(body).hexdigest()}"
    try:
        value = _unfolded(json.loads(text))
        if "\\u" in text:
            # Lone surrogates are legal in JSON, also in JSON within a text, but not in the encoding of a
            # report.
            whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
            value = json.loads(whole)
        return value
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
