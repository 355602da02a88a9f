"""The tables of the OpenTelemetry Collector's ClickHouse exporter, and records as their rows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from pydantic import JsonValue

from harness.production.record import StoredRecord
from harness.traces.names import STATUS_MESSAGE
from harness.traces.otlp import RawRecord, RecordKind, bounded, with_body
from harness.values import JsonObject

# The exporter names the columns that it inserts, so that more columns with defaults do not disturb it. What it writes
# holds attributes as texts; the receiver also keeps a record's whole body, so that no type is lost.

Table = Literal["traces", "logs"]
TABLES: Final[Mapping[Table, RecordKind]] = {"traces": "span", "logs": "log"}

_TEXT: Final = "String CODEC(ZSTD(1))"
_NAME: Final = "LowCardinality(String) CODEC(ZSTD(1))"
_MAP: Final = "Map(LowCardinality(String), String) CODEC(ZSTD(1))"

TRACES: Final = {
    "Timestamp": "DateTime64(9) CODEC(Delta, ZSTD(1))", "TraceId": _TEXT, "SpanId": _TEXT, "ParentSpanId": _TEXT,
    "TraceState": _TEXT, "SpanName": _NAME, "SpanKind": _NAME, "ServiceName": _NAME, "ResourceAttributes": _MAP,
    "ScopeName": _TEXT, "ScopeVersion": _TEXT, "SpanAttributes": _MAP, "Duration": "UInt64 CODEC(ZSTD(1))",
    "StatusCode": _NAME, "StatusMessage": _TEXT,
    "Events": (
        "Nested (Timestamp DateTime64(9), Name LowCardinality(String),"
        " Attributes Map(LowCardinality(String), String)) CODEC(ZSTD(1))"
    ),
    "Links": (
        "Nested (TraceId String, SpanId String, TraceState String,"
        " Attributes Map(LowCardinality(String), String)) CODEC(ZSTD(1))"
    ),
}  # fmt: skip
"""Columns of the exporter's `otel_traces`."""

LOGS: Final = {
    "Timestamp": "DateTime64(9) CODEC(Delta(8), ZSTD(1))", "TimestampTime": "DateTime DEFAULT toDateTime(Timestamp)",
    "TraceId": _TEXT, "SpanId": _TEXT, "TraceFlags": "UInt8", "SeverityText": _NAME, "SeverityNumber": "UInt8",
    "ServiceName": _NAME, "Body": _TEXT, "ResourceSchemaUrl": _NAME, "ResourceAttributes": _MAP,
    "ScopeSchemaUrl": _NAME, "ScopeName": _TEXT, "ScopeVersion": _NAME, "ScopeAttributes": _MAP, "LogAttributes": _MAP,
    "EventName": _TEXT,
}  # fmt: skip
"""Columns of the exporter's `otel_logs`; older ones have no `EventName`."""

OWN: Final = {
    "HarnessSource": "LowCardinality(String) DEFAULT ''",
    "HarnessTrusted": "Bool DEFAULT false",
    "HarnessReceived": "Int64 DEFAULT 0",
    "HarnessBody": "String DEFAULT '' CODEC(ZSTD(1))",
}
"""What the receiver adds: the sender's token by its name, whether it is trusted, when the record was received
(nanoseconds since the epoch), and its body with all types. Whoever may write these columns is trusted.
"""

_TRACE_INDEX: Final = "INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1"


def _value_indexes(short: str, column: str) -> str:
    return (
        f"INDEX idx_{short}_attr_key mapKeys({column}) TYPE bloom_filter(0.01) GRANULARITY 1,"
        f" INDEX idx_{short}_attr_value mapValues({column}) TYPE bloom_filter(0.01) GRANULARITY 1"
    )


def create_table(table: Table, name: str) -> str:
    """The statement that makes a table if there is none; `name` is quoted already."""
    columns = (TRACES if table == "traces" else LOGS) | OWN
    listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
    if table == "traces":
        indexes = f"{_value_indexes('res', 'ResourceAttributes')}, {_value_indexes('span', 'SpanAttributes')}"
        order = "PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))"
    else:
        indexes = f"{_value_indexes('res', 'ResourceAttributes')}, {_value_indexes('log', 'LogAttributes')}"
        order = (
            "PARTITION BY toDate(TimestampTime) PRIMARY KEY (ServiceName, TimestampTime)"
            " ORDER BY (ServiceName, TimestampTime, Timestamp)"
        )
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({listed}, {_TRACE_INDEX}, {indexes}) ENGINE = MergeTree() {order}"
        " SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1"
    )


def add_columns(name: str) -> str:
    """The statement that gives a table of the exporter the receiver's columns."""
    return f"ALTER TABLE {name} " + ", ".join(
        f"ADD COLUMN IF NOT EXISTS {column} {kind}" for column, kind in OWN.items()
    )


TRACE_COLUMNS: Final = (
    "Timestamp", "TraceId", "SpanId", "ParentSpanId", "SpanName", "ServiceName", "ResourceAttributes",
    "SpanAttributes", "Duration", "StatusCode", "StatusMessage", "Events.Timestamp", "Events.Name",
    "Events.Attributes", "HarnessSource", "HarnessTrusted", "HarnessReceived", "HarnessBody",
)  # fmt: skip
LOG_COLUMNS: Final = (
    "Timestamp", "TraceId", "SpanId", "ServiceName", "Body", "ResourceAttributes", "LogAttributes", "EventName",
    "HarnessSource", "HarnessTrusted", "HarnessReceived", "HarnessBody",
)  # fmt: skip
LEFT_OUT: Final = "harness.left_out"
"""The attribute that says why a row's content is not read."""
_NUMBERS: Final = (
    "gen_ai.usage.", "llm.token_count.", "ai.usage.", "llm.usage.", "gen_ai.evaluation.score.value", "user.feedback",
    "feedback.score",
)  # fmt: skip
"""Beginnings of names whose values are numbers; all other texts stay texts: a user may say "42"."""
_EVENT_NAME: Final = "event.name"


class StoredRow(NamedTuple):
    """One row as it was read; the fields are those that the query of records selects."""

    source: str
    trusted: bool
    received_ns: int
    trace: str
    kind: RecordKind
    trace_id: str
    span_id: str
    parent_id: str
    name: str
    status: str
    status_message: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, str]
    resource: Mapping[str, str]
    event_names: Sequence[str]
    event_times: Sequence[int]
    event_attributes: Sequence[Mapping[str, str]]
    text: str
    body: str


def arrived(row: StoredRow) -> RawRecord:
    """The record of a row, within all bounds; of one that is beyond them its name, and the reason."""
    try:
        return bounded(_raw_record(row))
    except (ValueError, TypeError, RecursionError) as error:
        attributes: JsonObject = {LEFT_OUT: str(error)[:300]}
        return RawRecord(kind=row.kind, trace_id=row.trace, span_id="", name=row.name[:200], start_ns=row.start_ns,
                       end_ns=row.start_ns, attributes=attributes)  # fmt: skip


def _raw_record(row: StoredRow) -> RawRecord:
    if row.body:
        whole = json.loads(row.body)
        attributes, events, resource = whole["attributes"], whole["events"], whole["resource"]
    else:
        attributes, events, resource = _attributes(row), _events(row), _typed_attributes(row.resource)
    status = row.status.lower().removeprefix("status_code_")
    return RawRecord(
        kind=row.kind,
        trace_id=row.trace_id,
        span_id=row.span_id,
        parent_id=row.parent_id,
        name=row.name or str(attributes.get(_EVENT_NAME) or ""),
        start_ns=row.start_ns,
        end_ns=row.end_ns,
        status=status if status in ("ok", "error") else "unset",
        attributes=attributes,
        events=events,
        resource=resource,
    )


def _attributes(row: StoredRow) -> JsonObject:
    found = _typed_attributes(row.attributes)
    if row.status_message:
        found[STATUS_MESSAGE] = row.status_message
    return with_body(_parsed_body(row.text), found) if row.text else found


def _events(row: StoredRow) -> list[JsonObject]:
    events = zip(row.event_names, row.event_times, row.event_attributes, strict=True)
    return [
        {"name": name, "time_ns": at, "attributes": _typed_attributes(attributes)} for name, at, attributes in events
    ]


def _parsed_body(text: str) -> JsonValue:
    """The body of a log record: the exporter writes an object as JSON."""
    if not text.startswith("{"):
        return text
    try:
        found: JsonValue = json.loads(text)
    except ValueError:
        return text
    return found


def _typed_attributes(texts: Mapping[str, str]) -> JsonObject:
    return {name: _number_or_text(text) if name.startswith(_NUMBERS) else text for name, text in texts.items()}


def _number_or_text(text: str) -> JsonValue:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, int | float) and not isinstance(found, bool) else text


def trace_row(record: StoredRecord) -> list[Any]:
    """A span in the order of `TRACE_COLUMNS`."""
    attributes, events, resource = _attributes_events_resource(record)
    return [
        record.start_ns, record.trace_id, record.span_id, record.parent_id, record.name,
        _exported_text(resource.get("service.name", "")), _texts(resource), _texts(attributes),
        max(0, record.end_ns - record.start_ns), record.status.capitalize(),
        _exported_text(attributes.get(STATUS_MESSAGE, "")),
        [_time(event) for event in events], [_exported_text(event.get("name", "")) for event in events],
        [_texts(facts) if isinstance(facts := event.get("attributes"), dict) else {} for event in events],
        record.source, record.trusted, record.received_ns, record.body,
    ]  # fmt: skip


def log_row(record: StoredRecord) -> list[Any]:
    """A log record in the order of `LOG_COLUMNS`."""
    attributes, _, resource = _attributes_events_resource(record)
    return [
        record.start_ns, record.trace_id, record.span_id, _exported_text(resource.get("service.name", "")),
        _exported_text(attributes.get("content", "")), _texts(resource), _texts(attributes), record.name,
        record.source, record.trusted, record.received_ns, record.body,
    ]  # fmt: skip


def _attributes_events_resource(record: StoredRecord) -> tuple[JsonObject, list[JsonObject], JsonObject]:
    whole = json.loads(record.body)
    return whole["attributes"], whole["events"], whole["resource"]


def _time(event: JsonObject) -> int:
    time_ns = event.get("time_ns")
    return time_ns if isinstance(time_ns, int) and 0 <= time_ns < 1 << 63 else 0


def _texts(values: JsonObject) -> dict[str, str]:
    return {name: _exported_text(value) for name, value in values.items()}


def _exported_text(value: JsonValue) -> str:
    """As the exporter writes a value: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
