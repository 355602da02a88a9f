"""One span or log record as a sender gave it, and as the store keeps it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from harness.ingest import CONVERSATION_NAMES
from harness.values import JsonObject, JsonValue

RecordKind = Literal["span", "log"]


@dataclass(slots=True, kw_only=True)
class RawRecord:
    """A record as it was decoded: within all bounds, and not yet redacted."""

    kind: RecordKind
    trace_id: str
    """32 hexadecimal digits; empty where a log record names no trace."""
    span_id: str
    parent_id: str = ""
    name: str
    start_ns: int
    end_ns: int
    status: str = "unset"
    attributes: JsonObject
    events: list[JsonObject] = field(default_factory=list)
    resource: JsonObject = field(default_factory=dict)


class StoredRecord(NamedTuple):
    """A row of the store; the names are those of its columns.

    `id`: the content address, so that the same record sent twice is one. `source`: the name of the sender's token.
    `trusted`: whether that sender may state what was observed. `session`, `user_id`, `release` and `model` are "" where
    the record names none. `feedback`: a user's score from 0 to 1. `body`: JSON with `attributes`, `events`, `resource`.
    """

    id: str
    kind: RecordKind
    received_ns: int
    source: str
    trusted: bool
    trace_id: str
    span_id: str
    parent_id: str
    session: str
    user_id: str
    start_ns: int
    end_ns: int
    name: str
    status: str
    release: str
    model: str
    feedback: float | None
    body: str


COLUMNS: Final = {
    "id": "VARCHAR", "kind": "VARCHAR", "received_ns": "BIGINT", "source": "VARCHAR", "trusted": "BOOLEAN",
    "trace_id": "VARCHAR", "span_id": "VARCHAR", "parent_id": "VARCHAR", "session": "VARCHAR", "user_id": "VARCHAR",
    "start_ns": "BIGINT", "end_ns": "BIGINT", "name": "VARCHAR", "status": "VARCHAR", "release": "VARCHAR",
    "model": "VARCHAR", "feedback": "DOUBLE", "body": "VARCHAR",
}  # fmt: skip
"""Columns of the store and their SQL types, in order."""
_HEAD: Final = tuple(COLUMNS)[:-1]
"""All columns but the body, which is the last."""

STATUS_MESSAGE: Final = "otel.status_description"
"""The attribute that holds a span's status message."""

USER: Final = ("user.id", "enduser.id", "langfuse.user.id")
RELEASE: Final = ("harness.release", "gen_ai.agent.version", "langfuse.release", "service.version")
MODEL: Final = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id")
FEEDBACK: Final = ("user.feedback", "feedback.score")
EVALUATION: Final = "gen_ai.evaluation.result"
FEEDBACK_WORDS: Final = {
    "thumbs_up": 1.0, "up": 1.0, "positive": 1.0, "thumbs_down": 0.0, "down": 0.0, "negative": 0.0,
}  # fmt: skip
LONGEST: Final = 500
# In ASCII, so that a line that a killed receiver left torn is still text that an SQL engine reads.
_dumped = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def stored(record: RawRecord, *, source: str, trusted: bool, received_ns: int) -> StoredRecord:
    """The row of a redacted record.

    Records without a trace form one trace per session, named after it; a record without a span id takes its content's.
    """
    body = _dumped({"attributes": record.attributes, "events": record.events, "resource": record.resource})
    identity = "|".join(
        (source, record.kind, record.trace_id, record.span_id, record.parent_id, record.name, record.status)
    )
    content = f"{identity}|{record.start_ns}|{record.end_ns}|{body}".encode("utf-8", "replace")
    digest = hashlib.sha256(content).hexdigest()[:32]
    session = _text(record, CONVERSATION_NAMES)
    trace_id = record.trace_id or hashlib.sha256(f"session|{session or digest}".encode()).hexdigest()[:32]
    return StoredRecord(
        id=digest,
        kind=record.kind,
        received_ns=received_ns,
        source=source,
        trusted=trusted,
        trace_id=trace_id,
        span_id=record.span_id or digest[:16],
        parent_id=record.parent_id,
        session=session,
        user_id=_text(record, USER),
        start_ns=record.start_ns,
        end_ns=record.end_ns,
        name=record.name,
        status=record.status,
        release=_text(record, RELEASE),
        model=_text(record, MODEL),
        feedback=_feedback(record),
        body=body,
    )


def with_body(body: JsonValue, attributes: JsonObject) -> JsonObject:
    """A log record's attributes with its body: an object's members beside them, anything else under `content`."""
    if body is None:
        return attributes
    return {**(body if isinstance(body, dict) else {"content": body}), **attributes}


def line_of(row: StoredRecord) -> bytes:
    """The row as a line of a journal; `body` is JSON already, and is not encoded twice."""
    short = _dumped(dict(zip(_HEAD, row, strict=False)))
    return f'{short[:-1]},"body":{row.body}}}\n'.encode("ascii")


def _text(record: RawRecord, names: Sequence[str]) -> str:
    for name in names:
        found = record.attributes.get(name)
        found = record.resource.get(name) if found is None else found
        if isinstance(found, str) and found.strip():
            return found.strip()[:LONGEST]
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
    return ""


def _feedback(record: RawRecord) -> float | None:
    """A user's score: an attribute, or an evaluation whose source is a user; a number is taken as it is within 0..1."""
    raw = next((record.attributes[name] for name in FEEDBACK if name in record.attributes), None)
    if raw is None:
        raw = _evaluated(record.name, record.attributes)
    for event in record.events if raw is None else ():
        facts = event.get("attributes")
        raw = _evaluated(str(event.get("name")), facts) if isinstance(facts, dict) else raw
    return None if raw is None else _score(raw)


def _evaluated(name: str, facts: JsonObject) -> JsonValue:
    if name != EVALUATION or "feedback" not in str(facts.get("gen_ai.evaluation.name", "")):
        return None
    return facts.get("gen_ai.evaluation.score.value", facts.get("gen_ai.evaluation.score.label"))


def _score(raw: JsonValue) -> float | None:
    if isinstance(raw, bool):
        return float(raw)
    if isinstance(raw, int | float):
        return min(1.0, max(0.0, float(raw)))
    return FEEDBACK_WORDS.get(str(raw).lower().replace("-", "_"))
