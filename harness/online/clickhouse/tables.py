"""The two tables of the OpenTelemetry Collector's ClickHouse exporter, and the columns that the receiver adds to them.

The exporter names the columns that it inserts, so that more columns with defaults do not disturb it. What it writes
holds attributes as texts; the receiver also keeps a record's whole body, so that no type is lost.
"""

from collections.abc import Mapping
from typing import Final, Literal

from harness.online.record import RecordKind

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
    """The statement that makes a table where there is none; `name` is quoted already."""
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
