"""What a trace's records say of it together, worked out without an engine: as the engines' own queries do."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from harness.online.record import StoredRecord


class TraceRow(NamedTuple):
    """What the store knows of one trace of one sender without reading its records' bodies.

    Times are nanoseconds since the epoch; `received_first_ns` and `received_last_ns` are of the receiver's clock, the
    others are the sender's word. `session` is the id that the earliest record with one names; "" where none does.
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


def trace_rows(records: Iterable[StoredRecord]) -> list[TraceRow]:
    """The rows of all traces that these records are of; `records`: every one of them, also those stored twice."""
    groups: dict[tuple[str, str], list[StoredRecord]] = {}
    for one in records:
        groups.setdefault((one.source, one.trace_id), []).append(one)
    return [_row(group) for group in groups.values()]


def _row(group: list[StoredRecord]) -> TraceRow:
    group.sort(key=lambda one: (one.start_ns, one.id))
    by_id = {one.id: one for one in group}
    return TraceRow(
        source=group[0].source,
        trusted=all(one.trusted for one in group),
        trace_id=group[0].trace_id,
        session=_first(group, lambda one: one.session),
        users=sorted({one.user_id for one in group if one.user_id}),
        release=_first(group, lambda one: one.release),
        model=_first(group, lambda one: one.model),
        records=len(by_id),
        errors=sum(one.status == "error" for one in by_id.values()),
        feedback=min((one.feedback for one in group if one.feedback is not None), default=None),
        start_ns=group[0].start_ns,
        end_ns=max(one.end_ns for one in group),
        received_first_ns=min(one.received_ns for one in group),
        received_last_ns=max(one.received_ns for one in group),
        digest=hashlib.md5(",".join(sorted(by_id)).encode(), usedforsecurity=False).hexdigest(),
    )


def _first(group: Iterable[StoredRecord], named: Callable[[StoredRecord], str]) -> str:
    return next(filter(None, map(named, group)), "")
