"""One span or log record: as a sender gave it, without credentials, and as the store keeps it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from harness.cassettes.credentials import Cleaner
from harness.traces.names import CONVERSATION_NAMES
from harness.traces.otlp import RawRecord, RecordKind
from harness.values import JsonObject


class StoredRecord(NamedTuple):
    """A row of the store; the names are those of its columns.

    `id`: the content address, so that the same record sent twice is one. `source`: the name of the sender's token.
    `trusted`: whether that sender may state what was observed. `session`, `user_id`, `release` and `model` are "" if
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


USER: Final = ("user.id", "enduser.id", "langfuse.user.id")
RELEASE: Final = ("harness.release", "gen_ai.agent.version", "langfuse.release", "service.version")
MODEL: Final = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id")
FEEDBACK: Final = ("user.feedback", "feedback.score")
EVALUATION: Final = "gen_ai.evaluation.result"
FEEDBACK_WORDS: Final = {
    "thumbs_up": 1.0, "up": 1.0, "positive": 1.0, "thumbs_down": 0.0, "down": 0.0, "negative": 0.0,
}  # fmt: skip
LONGEST: Final = 500
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
    session = _first_text(record, CONVERSATION_NAMES)
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
        user_id=_first_text(record, USER),
        start_ns=record.start_ns,
        end_ns=record.end_ns,
        name=_whole(record.name),
        status=record.status,
        release=_first_text(record, RELEASE),
        model=_first_text(record, MODEL),
        feedback=_feedback(record),
        body=body,
    )


def _first_text(record: RawRecord, names: Sequence[str]) -> str:
    for name in names:
        found = record.attributes.get(name)
        found = record.resource.get(name) if found is None else found
        if isinstance(found, str) and found.strip():
            return _whole(found.strip()[:LONGEST])
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
    return ""


def _whole(text: str) -> str:
    """Without lone surrogates, which no database takes."""
    return text.encode("utf-8", "replace").decode()


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


# Takes credentials out of records before anything of them is written, by what cassettes and importers know.

_FRESH_AFTER: Final = 20_000
"""Records after which what the cleaner remembers is dropped, so that a stream does not grow it."""


class RecordCleaner:
    """Redacts records; `found` counts the texts and objects in which a credential stood."""

    def __init__(self, secrets: Mapping[str, str], key: str) -> None:
        """`secrets`: known values by name. `key`: of the store, for stable pseudonyms. Raises UsageError."""
        self._secrets = dict(secrets)
        self._key = bytes.fromhex(key)
        self._cleaner = self._new_cleaner()
        self._seen = 0
        self._before = 0

    @property
    def found(self) -> int:
        return self._before + self._cleaner.found

    def clean(self, records: Sequence[RawRecord]) -> None:
        """Redacts records in place; the resource that records share is cleaned once."""
        _redact(records, self._cleaner)
        self._renew(len(records))

    def clean_apart(self, records: Sequence[RawRecord]) -> int:
        """The same in any thread; what was found, to be given to `count` by the thread that uses the rest."""
        cleaner = self._new_cleaner()
        _redact(records, cleaner)
        return cleaner.found

    def count(self, found: int) -> None:
        self._before += found

    def _renew(self, seen: int) -> None:
        self._seen += seen
        if self._seen >= _FRESH_AFTER:
            self._before += self._cleaner.found
            self._cleaner, self._seen = self._new_cleaner(), 0

    def _new_cleaner(self) -> Cleaner:
        return Cleaner(self._secrets, key=self._key)


def _redact(records: Sequence[RawRecord], cleaner: Cleaner) -> None:
    resources: dict[int, JsonObject] = {}
    for record in records:
        resource = resources.get(id(record.resource))
        if resource is None:
            resource = resources[id(record.resource)] = cleaner.fields(record.resource)
            resources[id(resource)] = resource
        record.resource = resource
        record.attributes = cleaner.fields(record.attributes)
        record.events = [cleaner.fields(event) for event in record.events]
        record.name = cleaner.text(record.name)


class TraceRow(NamedTuple):
    """What the store knows of one trace of one sender without reading its records' bodies.

    Times are nanoseconds since the epoch; `received_first_ns` and `received_last_ns` are of the receiver's clock, the
    others are the sender's word. `session` is the id that the earliest record with one names; "" if none does.
    """

    source: str
    trusted: bool
    trace_id: str
    session: str
    users: Sequence[str]
    release: str
    model: str
    records: int
    errors: int
    feedback: float | None
    start_ns: int
    end_ns: int
    received_first_ns: int
    received_last_ns: int
    digest: str
    """Of the ids of all its records: changes when a record is added, and with nothing else."""
