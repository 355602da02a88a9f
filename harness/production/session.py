"""A session: the traces of one conversation of one sender, and the trial that its spans tell."""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from pydantic import JsonValue, ValidationError

from harness.production.record import StoredRecord, TraceRow
from harness.runs.foreign_runs import ConversationSpans, conversation_of
from harness.scoring.evidence import ReferenceState, is_state_of
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.formats.found import ImportNote
from harness.traces.spans import Span
from harness.traces.trajectory import Observation, Step, Trajectory, unattributed
from harness.traces.trial import Trial
from harness.values import Frozen, JsonObject

# What a harness knows of its own trial beside the spans, as log records: so that it is scored online as offline.
#
# A text that is longer than the receiver's bound of one text is sent in pieces, each a record of its own. The records
# count only if every record of the session came with a trusted token; nothing that a session says about itself counts
# as observed.

EVENT: Final = "harness.trial"
PIECE: Final = "harness.trial.piece"
"""The names of the log records; those of pieces begin as the trial's own does."""
_TRIAL: Final = "harness.trial.evidence"
_ARCHIVE: Final = "harness.trial.end_state"
_OF: Final = "harness.trial.piece.of"
_PLACE: Final = "harness.trial.piece.place"
_CONTENT: Final = "harness.trial.piece.content"
_PIECES: Final = "pieces:"
"""Before the digest and the number of pieces, in place of a text that is sent in pieces."""
_LONGEST: Final = 900_000
"""Characters of one piece: the receiver cuts a text at 1 MB."""
MAX_ARCHIVE: Final = 32 << 20
"""Bytes of an end state's archive that is sent."""


class TrialRecord(Frozen):
    """A trial without its steps, and the content of the files that it changed."""

    evidence: JsonObject
    final_output: JsonValue = None
    archive: str | None = None
    """In base64; None: not sent."""
    reference: JsonObject | None = None
    """The state that the case's reference leaves, as it is stored with the run; None: there is none."""

    def reference_state(self, suite: Suite, case: Case) -> ReferenceState | None:
        """None if none was sent that is of this case as it is now."""
        try:
            state = None if self.reference is None else ReferenceState.model_validate(self.reference)
        except ValidationError:
            return None
        return state if state is not None and is_state_of(state, suite, case) else None

    def trial(self, trajectory: Trajectory) -> Trial:
        """The trial of this record with a trajectory that was read from spans. Raises ValidationError."""
        complete = trajectory.model_copy(update={"final_output": self.final_output})
        return Trial.model_validate({**self.evidence, "trajectory": complete})

    def write_archive(self, folder: Path) -> Path | None:
        """The archive as a file in `folder`; None if it was not sent."""
        if self.archive is None:
            return None
        try:
            content = base64.b64decode(self.archive, validate=True)
        except (binascii.Error, ValueError):
            return None
        path = folder / "end_state.tar"
        path.write_bytes(content)
        return path


def trial_attributes(
    trial: Trial, archive: Path | None, reference: ReferenceState | None = None
) -> list[tuple[str, dict[str, str]]]:
    """(event, attributes) of the log records for a stored trial: pieces first, and then what they are pieces of."""
    fields = trial.model_dump(mode="json", exclude={"trajectory"})
    document = {
        "evidence": fields,
        "final_output": trial.trajectory.final_output,
        "reference": None if reference is None else reference.model_dump(mode="json"),
    }
    texts = {_TRIAL: json.dumps(document, ensure_ascii=True)}
    if archive is not None and is_sent(archive):
        texts[_ARCHIVE] = base64.b64encode(archive.read_bytes()).decode()
    found: list[tuple[str, dict[str, str]]] = []
    facts: dict[str, str] = {}
    for name, text in texts.items():
        if len(text) <= _LONGEST:
            facts[name] = text
            continue
        digest = hashlib.sha256(text.encode()).hexdigest()
        starts = range(0, len(text), _LONGEST)
        for place, start in enumerate(starts):
            piece = {_OF: digest, _PLACE: str(place), _CONTENT: text[start : start + _LONGEST]}
            found.append((PIECE, piece))
        facts[name] = f"{_PIECES}{digest}:{len(starts)}"
    return [*found, (EVENT, facts)]


def is_sent(archive: Path) -> bool:
    """Whether an end state's archive is small enough."""
    return archive.stat().st_size <= MAX_ARCHIVE


def trial_record_in(records: Sequence[StoredRecord]) -> TrialRecord | None:
    """The last record of a trial among trusted records; None if there is none that can be read."""
    trusted = [one for one in records if one.kind == "log" and one.trusted and one.name in (EVENT, PIECE)]
    pieces = {(digest, place): text for digest, place, text in _pieces(trusted)}
    for record in reversed(trusted):
        if record.name != EVENT:
            continue
        facts = json.loads(record.body).get("attributes") or {}
        try:
            document = json.loads(_joined_pieces(str(facts.get(_TRIAL)), pieces) or "")
            archive = facts.get(_ARCHIVE)
            return TrialRecord(
                evidence=document["evidence"],
                final_output=document.get("final_output"),
                reference=document.get("reference"),
                archive=_joined_pieces(archive, pieces) if isinstance(archive, str) else None,
            )
        except (ValueError, KeyError, TypeError, ValidationError):
            continue
    return None


def _pieces(records: Sequence[StoredRecord]) -> Iterator[tuple[str, int, str]]:
    for record in records:
        facts = json.loads(record.body).get("attributes") or {} if record.name == PIECE else {}
        place = str(facts.get(_PLACE, ""))
        if place.isascii() and place.isdecimal() and len(place) < 6:
            yield str(facts.get(_OF)), int(place), str(facts.get(_CONTENT))


def _joined_pieces(text: str, pieces: dict[tuple[str, int], str]) -> str | None:
    """The text, put together if it was sent in pieces; None if one is missing or another than was sent."""
    if not text.startswith(_PIECES):
        return text
    digest, _, count = text.removeprefix(_PIECES).partition(":")
    if not count.isdecimal() or len(count) > 5:
        return None
    found = [pieces.get((digest, place)) for place in range(int(count))]
    whole = "".join(one for one in found if one is not None)
    return whole if None not in found and hashlib.sha256(whole.encode()).hexdigest() == digest else None


_TRACE = "trace:"


class SessionRow(Frozen):
    """What is known of a session without reading its spans. Texts are "" if no span names them.

    `started_ns` and `ended_ns` are the sender's clock, `received_first_ns` and `received_last_ns` the receiver's
    (nanoseconds since the epoch): only the latter decide when a session is complete and to which day it belongs.
    """

    key: str
    """`<source>:<session id>`; `<source>:trace:<trace id>` if no span names a session."""
    source: str
    """The name of the token that its spans were sent with."""
    trusted: bool
    """Whether the sender may state what was observed: every record came with a trusted token."""
    trace_ids: tuple[str, ...]
    users: tuple[str, ...]
    """Ids of the users that its spans name."""
    release: str
    model: str
    records: int
    errors: int
    """Spans with the status `error`."""
    feedback: float | None
    """The lowest score from 0 to 1 that a user gave; None: none was given."""
    started_ns: int
    ended_ns: int
    received_first_ns: int
    received_last_ns: int
    digest: str
    """Of its records: a late span changes it."""

    @property
    def id(self) -> str:
        """A name for files: 16 hexadecimal digits of the key."""
        return session_id(self.key)

    @property
    def duration_s(self) -> float:
        return max(0, self.ended_ns - self.started_ns) / 1e9

    def is_complete(self, now_ns: int, pause_s: float) -> bool:
        """Whether nothing was received for the pause."""
        return now_ns - self.received_last_ns >= pause_s * 1e9


def session_origin(key: str) -> str:
    """What a case that is made of a session names as its origin."""
    return f"session:{session_id(key)}"


def session_id(key: str) -> str:
    """16 hexadecimal digits of a session's key."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:16]


def sessions_from(rows: Iterable[TraceRow]) -> list[SessionRow]:
    """Traces of one sender that name one session are one session; a trace that names none is one by itself."""
    groups: dict[str, list[TraceRow]] = {}
    for row in rows:
        groups.setdefault(f"{row.source}:{row.session or _TRACE + row.trace_id}", []).append(row)
    return [_session(key, group) for key, group in groups.items()]


def _session(key: str, rows: list[TraceRow]) -> SessionRow:
    rows.sort(key=lambda row: (row.start_ns, row.trace_id))
    scores = [row.feedback for row in rows if row.feedback is not None]
    digests = "".join(sorted(row.digest for row in rows))
    return SessionRow(
        key=key,
        source=rows[0].source,
        trusted=all(row.trusted for row in rows),
        trace_ids=tuple(row.trace_id for row in rows),
        users=tuple(sorted({user for row in rows for user in row.users})),
        release=next((row.release for row in rows if row.release), ""),
        model=next((row.model for row in rows if row.model), ""),
        records=sum(row.records for row in rows),
        errors=sum(row.errors for row in rows),
        feedback=min(scores) if scores else None,
        started_ns=rows[0].start_ns,
        ended_ns=max(row.end_ns for row in rows),
        received_first_ns=min(row.received_first_ns for row in rows),
        received_last_ns=max(row.received_last_ns for row in rows),
        digest=hashlib.sha256(digests.encode()).hexdigest()[:32],
    )


class Session:
    """A session with its records. What they tell is computed when it is asked for."""

    def __init__(self, row: SessionRow, records: Sequence[StoredRecord]) -> None:
        self.row = row
        self._records = records

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """Each span once, with the log records that belong to it as events. Of versions of one span the longest."""
        return spans_of_records(self._records)

    @cached_property
    def conversation(self) -> ConversationSpans | None:
        """None if the spans contain no agent, model or tool."""
        return conversation_of(self.row.key, self.spans) if self.spans else None

    @cached_property
    def own_record(self) -> TrialRecord | None:
        """What a trusted harness sent of its trial beside the spans; None for every other session."""
        return trial_record_in(self._records) if self.row.trusted else None

    @property
    def notes(self) -> tuple[ImportNote, ...]:
        """What was read otherwise than it is written."""
        return () if self.conversation is None else self.conversation.notes

    @property
    def case(self) -> Case | None:
        """Task and system prompt as far as the spans tell them."""
        return None if self.conversation is None else self.conversation.case

    @cached_property
    def trajectory(self) -> Trajectory | None:
        """What the session did. Evidence has no provenance, unless the sender is a trusted harness."""
        if self.conversation is None:
            return None
        stored = self.conversation.trajectory
        return stored if self.row.trusted else _without_claims(unattributed(stored))

    def trial(self) -> Trial | None:
        """The session as a trial, with the session's id as its case; None if there is no trajectory."""
        trajectory = self.trajectory
        if trajectory is None or self.conversation is None:
            return None
        if self.own_record is not None:
            return self.own_record.trial(trajectory)
        return Trial(
            case_id=f"session-{self.row.id}",
            attempt=1,
            outcome="finished",
            trajectory=trajectory,
            duration_s=self.conversation.duration_s,
        )


def spans_of_records(records: Sequence[StoredRecord]) -> tuple[Span, ...]:
    """Spans in the order of their start; log records without a span of the session become spans of their own."""
    best: dict[tuple[str, str], StoredRecord] = {}
    logs: list[StoredRecord] = []
    for record in records:
        if record.kind == "log":
            logs.append(record)
            continue
        place = (record.trace_id, record.span_id)
        other = best.get(place)
        if other is None or _rank(record) > _rank(other):
            best[place] = record
    events: dict[tuple[str, str], list[JsonObject]] = {}
    alone: list[StoredRecord] = []
    for log in logs:
        place = (log.trace_id, log.span_id)
        if place in best:
            events.setdefault(place, []).append(_event(log))
        elif not log.name.startswith(_OWN_EVENTS):
            alone.append(log)
    spans = [_span(record, events.get(place, [])) for place, record in best.items()]
    spans += [_span(record, []) for record in alone]
    return tuple(sorted(spans, key=lambda span: (span.start_ns, span.end_ns, span.span_id)))


_OWN_EVENTS = ("harness.trial", "gen_ai.evaluation.result")
"""Log records that are not part of what the agent did."""


def _rank(record: StoredRecord) -> tuple[int, int, str]:
    return record.end_ns, len(record.body), record.id


def _span(record: StoredRecord, events: Sequence[JsonObject]) -> Span:
    body = json.loads(record.body)
    return Span(
        trace_id=record.trace_id,
        span_id=record.span_id,
        parent_id=record.parent_id or None,
        name=record.name,
        start_ns=record.start_ns,
        end_ns=record.end_ns,
        attributes=body.get("attributes") or {},
        events=(*(body.get("events") or ()), *events),
        status=record.status,
    )


def _event(log: StoredRecord) -> JsonObject:
    attributes = json.loads(log.body).get("attributes") or {}
    return {"name": log.name, "time_ns": log.start_ns, "attributes": attributes}


def _without_claims(trajectory: Trajectory) -> Trajectory:
    """Without what only a harness can know of a call: that it was replayed, that a fault was injected, or that an error
    is the harness's and no tool's.
    """
    return trajectory.model_copy(update={"steps": tuple(map(_plain_step, trajectory.steps))})


_HARNESS_ERRORS = ("replay_miss", "limit_reached")


def _plain_step(step: Step) -> Step:
    if not any(seen.replayed or seen.injected or seen.error for seen in step.observations):
        return step
    return step.model_copy(update={"observations": tuple(map(_plain_observation, step.observations))})


def _plain_observation(seen: Observation) -> Observation:
    error = seen.error
    if error is not None and error.type in _HARNESS_ERRORS:
        error = error.model_copy(update={"type": "tool_error"})
    return seen.model_copy(update={"replayed": None, "injected": None, "error": error})
