"""Spans that hold their children (`child_spans`), as trace viewers export them.

Times are ISO 8601, durations too (`PT1M8.98S`); attributes and names have a `span_` before them.
"""

import re
from typing import Final

from harness.ingest.naming import wall_ns
from harness.ingest.reading import Record
from harness.trace import Span
from harness.values import JsonObject

_DURATION: Final = re.compile(r"P(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9})\d*)?S)?")
_NANO: Final = 1_000_000_000


_CHILDREN: Final = ("child_spans", "children", "childSpans", "spans")


def is_nested(record: Record) -> bool:
    """Whether a record is a span of this shape."""
    return "span_attributes" in record.data or ("child_spans" in record.data and "context" not in record.data)


def children_of(record: Record) -> list[Record]:
    """The spans that a span holds, in whatever shape."""
    name = next((one for one in _CHILDREN if isinstance(record.data.get(one), list)), None)
    return [] if name is None else record.records(name)


def nested_span(record: Record) -> Span:
    """The span alone. Raises InvalidDocument for a span without ids."""
    began = wall_ns(record.value("timestamp", "start_time")) or 0
    ended = wall_ns(record.value("end_time"))
    attributes = record.record("span_attributes", "attributes")
    return Span(
        trace_id=_required(record, "trace_id"),
        span_id=_required(record, "span_id"),
        parent_id=record.text("parent_span_id", "parent_id"),
        name=record.text("span_name", "name") or "",
        start_ns=began,
        end_ns=began + _duration_ns(record.text("duration")) if ended is None else ended,
        attributes=attributes.data if attributes else {},
        events=tuple(_event(event) for event in record.records("events")),
        status=_status(record.text("status_code")),
    )


def _required(record: Record, name: str) -> str:
    found = record.text(name)
    if not found:
        raise record.refusal(name, "is missing: every span has one")
    return found.removeprefix("0x")


def _event(event: Record) -> JsonObject:
    attributes = event.record("Attributes", "attributes")
    return {
        "name": event.text("Name", "name") or "",
        "time_ns": wall_ns(event.value("Timestamp", "timestamp")) or 0,
        "attributes": attributes.data if attributes else {},
    }


def _status(raw: str | None) -> str:
    status = (raw or "unset").lower()
    return status if status in ("ok", "error") else "unset"


def _duration_ns(duration: str | None) -> int:
    found = _DURATION.fullmatch(duration or "")
    if found is None:
        return 0
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return whole * _NANO + int((found[5] or "0").ljust(9, "0"))
