"""The engine over ClickHouse: sessions are found by queries over the exporter's tables, where they lie.

A row that the receiver wrote has the receiver's time. For any other row the sender's clock is all there is: a time in
the future counts as the beginning of today, so that no clock keeps a session from being scored.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from harness.errors import ResultsError
from harness.ingest import CONVERSATION_NAMES
from harness.online.clickhouse.database import Database
from harness.online.clickhouse.rows import StoredRow, arrived
from harness.online.clickhouse.tables import OWN, TABLES, Table
from harness.online.receiving.cleaning import RecordCleaner
from harness.online.record import (
    EVALUATION,
    FEEDBACK,
    FEEDBACK_WORDS,
    LONGEST,
    MODEL,
    RELEASE,
    USER,
    StoredRecord,
    stored,
)
from harness.online.storage.trace_row import TraceRow

_DAY_NS: Final = 86_400 * 10**9
_AT_ONCE: Final = 500
"""Traces whose records are asked for by one query."""

_TRACES: Final = """
SELECT source, min(trusted), trace, argMinIf(session, (start_ns, id), session != ''),
    arraySort(groupUniqArrayIf(user, user != '')), argMinIf(release, (start_ns, id), release != ''),
    argMinIf(model, (start_ns, id), model != ''), uniqExact(id), uniqExactIf(id, is_error), min(feedback),
    min(start_ns), max(end_ns), min(received_ns), max(received_ns),
    lower(hex(MD5(arrayStringConcat(arraySort(groupUniqArray(id))))))
FROM ({rows}) GROUP BY source, trace HAVING max(received_ns) >= {{since:Int64}}
"""


class ClickHouseEngine:
    """Reads the tables of one `clickhouse:` section. One object for each thread."""

    def __init__(self, database: Database, key: str) -> None:
        """`key`: of the store, for pseudonyms: rows of others are redacted when they are read."""
        self._database = database
        self._cleaner = RecordCleaner({}, key)

    def traces(self, *, received_since_ns: int = 0, sessions: Sequence[str] = ()) -> list[TraceRow]:
        tables = self._tables()
        values = self._values() | {"since": received_since_ns, "names": sorted({*sessions})}
        parts, wanted = list[str](), list[str]()
        for table, columns in tables.items():
            name = self._database.table(table)
            parts.append(_row_facts(table, columns, name))
            chosen = _row_facts(table, columns, name, _chosen(table, columns, sessions))
            named = " WHERE has({names:Array(String)}, session)" if sessions else ""
            wanted.append(f"SELECT trace FROM ({chosen}){named}")
        rows = f"SELECT * FROM ({' UNION ALL '.join(parts)}) WHERE trace IN ({' UNION ALL '.join(wanted)})"
        found = self._database.ask(_TRACES.format(rows=rows), values)
        return [TraceRow._make(row)._replace(trusted=bool(row[1])) for row in found]

    def records(self, traces: Sequence[tuple[str, str]]) -> list[StoredRecord]:
        pairs, found = set(traces), dict[str, StoredRecord]()
        wanted = sorted({trace for _, trace in pairs})
        for start in range(0, len(wanted), _AT_ONCE):
            for one in self._records(wanted[start : start + _AT_ONCE]):
                if (one.source, one.trace_id) in pairs:
                    found.setdefault(one.id, one)
        return sorted(found.values(), key=lambda one: (one.start_ns, one.end_ns, one.id))

    def _records(self, wanted: Sequence[str]) -> Iterable[StoredRecord]:
        fields = [_row_fields(table, columns, self._database.table(table)) for table, columns in self._tables().items()]
        parts = [f"SELECT * FROM ({one}) WHERE has({{traces:Array(String)}}, trace)" for one in fields]
        query = f"SELECT * FROM ({' UNION ALL '.join(parts)}) ORDER BY received_ns"
        for row in map(StoredRow._make, self._database.ask(query, self._values() | {"traces": list(wanted)})):
            record = arrived(row)
            self._cleaner.clean([record])
            kept = stored(record, source=row.source, trusted=row.trusted, received_ns=row.received_ns)
            yield kept._replace(trace_id=row.trace)

    def named(self, sessions: Sequence[str]) -> tuple[list[TraceRow], list[StoredRecord]]:
        rows = self.traces(sessions=sessions)
        return rows, self.records([(row.source, row.trace_id) for row in rows])

    def delete(self, traces: Sequence[tuple[str, str]]) -> None:
        by_source: dict[str, list[str]] = defaultdict(list)
        for source, trace in traces:
            by_source[source].append(trace)
        for table, columns in self._tables().items():
            for source, names in by_source.items():
                where = f"{_source(columns)} = {{wanted:String}} AND has({{traces:Array(String)}}, {_trace(table)})"
                self._database.do(
                    f"DELETE FROM {self._database.table(table)} WHERE {where} SETTINGS lightweight_deletes_sync = 2",
                    self._values() | {"wanted": source, "traces": sorted(names)},
                )

    def _tables(self) -> dict[Table, frozenset[str]]:
        """The tables that are there, with their columns. Raises ResultsError where that of the traces is missing."""
        found = {table: self._database.columns(table) for table in TABLES}
        if not found["traces"]:
            raise ResultsError(
                f"ClickHouse has no table {self._database.table('traces')}",
                remedy="name it under `clickhouse:` in online.yaml, or start the receiver, which makes it",
            )
        return {table: columns for table, columns in found.items() if columns}

    def _values(self) -> dict[str, Any]:
        now_ns = time.time_ns()
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return {
            "source": self._database.settings.source,
            "now": now_ns,
            "today": int(today.timestamp()) * 10**9,
            "from": now_ns - int(self._database.settings.days * _DAY_NS),
        }


def _attributes(table: Table) -> str:
    return "SpanAttributes" if table == "traces" else "LogAttributes"


def _first(table: Table, names: Sequence[str]) -> str:
    """The first of the attributes that is there, of the record or its resource."""
    expressions = [
        f"trimBoth({holder}['{name}'])" for name in names for holder in (_attributes(table), "ResourceAttributes")
    ]
    return f"leftUTF8(arrayFirst(x -> x != '', [{', '.join(expressions)}]), {LONGEST})"


def _own(columns: frozenset[str]) -> bool:
    return columns >= {*OWN}


def _source(columns: frozenset[str]) -> str:
    return "if(HarnessSource = '', {source:String}, HarnessSource)" if _own(columns) else "{source:String}"


def _trace(table: Table) -> str:
    """The trace id; records without one form one trace for each session, as `stored` has it."""
    session = _first(table, CONVERSATION_NAMES)
    expression = f"if({session} = '', {_id(table, frozenset())}, {session})"
    return f"if(TraceId != '', TraceId, lower(substring(hex(SHA256(concat('session|', {expression}))), 1, 32)))"


def _start() -> str:
    return "greatest(0, toUnixTimestamp64Nano(Timestamp))"


def _end(table: Table) -> str:
    return f"greatest({_start()}, {_start()} + toInt64(Duration))" if table == "traces" else _start()


def _received(table: Table, columns: frozenset[str]) -> str:
    by_clock = f"if({_end(table)} > {{now:Int64}}, {{today:Int64}}, {_end(table)})"
    return f"if(HarnessReceived > 0, HarnessReceived, {by_clock})" if _own(columns) else by_clock


def _id(table: Table, columns: frozenset[str]) -> str:
    """A digest of a row's content: the same record inserted twice is one."""
    expressions = ["TraceId", "SpanId", "Timestamp", _sorted(_attributes(table)), _sorted("ResourceAttributes")]
    if table == "traces":
        events = f"arrayMap(m -> {_sorted('m')}, `Events.Attributes`)"
        expressions += ["ParentSpanId", "SpanName", "Duration", "StatusCode", "StatusMessage", "`Events.Name`", events]
    else:
        expressions += ["Body"]
    expressions += ["HarnessSource", "HarnessTrusted"] if _own(columns) else []
    return f"hex(sipHash128({', '.join(expressions)}))"


def _sorted(of: str) -> str:
    """A map in one order: exporters write its entries in any."""
    return f"arraySort(arrayZip(mapKeys({of}), mapValues({of})))"


def _feedback(table: Table, columns: frozenset[str]) -> str:
    holder, name = _attributes(table), _name(table, columns)
    expressions = [f"{holder}['{one}']" for one in FEEDBACK]
    expressions += [_evaluated(name, holder)]
    if table == "traces":
        events = "arrayZip(`Events.Name`, `Events.Attributes`)"
        expressions += [f"arrayFirst(x -> x != '', arrayMap(e -> {_evaluated('e.1', 'e.2')}, {events}))"]
    first = f"arrayFirst(x -> x != '', [{', '.join(expressions)}])"
    words = ", ".join(f"'{word}'" for word in FEEDBACK_WORDS)
    scores = ", ".join(str(score) for score in FEEDBACK_WORDS.values())
    plain = f"replaceAll(lower({first}), '-', '_')"
    number = f"toFloat64OrNull(multiIf({plain} = 'true', '1', {plain} = 'false', '0', {plain}))"
    return (
        f"if(has([{words}], {plain}), toNullable(transform({plain}, [{words}], [{scores}], 0.0)),"
        f" if(isFinite({number}), least(1.0, greatest(0.0, {number})), NULL))"
    )


def _evaluated(name: str, holder: str) -> str:
    score, label = f"{holder}['gen_ai.evaluation.score.value']", f"{holder}['gen_ai.evaluation.score.label']"
    is_one = f"{name} = '{EVALUATION}' AND position({holder}['gen_ai.evaluation.name'], 'feedback') > 0"
    return f"if({is_one}, if({score} != '', {score}, {label}), '')"


def _name(table: Table, columns: frozenset[str]) -> str:
    if table == "traces":
        return "toString(SpanName)"
    expression = "LogAttributes['event.name']"
    return f"if(EventName != '', toString(EventName), {expression})" if "EventName" in columns else expression


def _row_facts(table: Table, columns: frozenset[str], name: str, where: str = "true") -> str:
    """One row a record: what a session's row is made of, without its content."""
    error = "lower(StatusCode) IN ('error', 'status_code_error')" if table == "traces" else "false"
    facts = {
        "source": f"toString({_source(columns)})",
        "trusted": "HarnessTrusted" if _own(columns) else "false",
        "trace": _trace(table),
        "session": _first(table, CONVERSATION_NAMES),
        "user": _first(table, USER),
        "release": _first(table, RELEASE),
        "model": _first(table, MODEL),
        "feedback": _feedback(table, columns),
        "start_ns": _start(),
        "end_ns": _end(table),
        "received_ns": _received(table, columns),
        "is_error": error,
        "id": _id(table, columns),
    }
    return f"{_select(facts)} FROM {name} WHERE {where}"


def _chosen(table: Table, columns: frozenset[str], sessions: Sequence[str]) -> str:
    """Rows that may name one of the sessions, found by the exporter's own indexes; else those of the last days."""
    if sessions:
        holders = (_attributes(table), "ResourceAttributes")
        return "(" + " OR ".join(f"hasAny(mapValues({one}), {{names:Array(String)}})" for one in holders) + ")"
    recent = "Timestamp >= fromUnixTimestamp64Nano({from:Int64})"
    return f"({recent} OR HarnessReceived >= {{from:Int64}})" if _own(columns) else recent


def _row_fields(table: Table, columns: frozenset[str], name: str) -> str:
    """One row a record, in the order of `StoredRow`."""
    is_span = table == "traces"
    no_texts, no_times = "CAST([], 'Array(String)')", "CAST([], 'Array(Int64)')"
    no_maps = "CAST([], 'Array(Map(String, String))')"
    fields = {
        "source": f"toString({_source(columns)})",
        "trusted": "HarnessTrusted" if _own(columns) else "false",
        "received_ns": _received(table, columns),
        "trace": _trace(table),
        "kind": f"'{TABLES[table]}'",
        "trace_id": "TraceId",
        "span_id": "SpanId",
        "parent_id": "ParentSpanId" if is_span else "''",
        "name": _name(table, columns),
        "status": "toString(StatusCode)" if is_span else "''",
        "status_message": "StatusMessage" if is_span else "''",
        "start_ns": _start(),
        "end_ns": _end(table),
        "attributes": f"CAST({_attributes(table)}, 'Map(String, String)')",
        "resource": "CAST(ResourceAttributes, 'Map(String, String)')",
        "event_names": "CAST(`Events.Name`, 'Array(String)')" if is_span else no_texts,
        "event_times": "arrayMap(x -> toUnixTimestamp64Nano(x), `Events.Timestamp`)" if is_span else no_times,
        "event_attributes": "CAST(`Events.Attributes`, 'Array(Map(String, String))')" if is_span else no_maps,
        "text": "''" if is_span else "Body",
        "body": "HarnessBody" if _own(columns) else "''",
    }
    return f"{_select(fields)} FROM {name}"


def _select(columns: Mapping[str, str]) -> str:
    return "SELECT " + ", ".join(f"{expression} AS {column}" for column, expression in columns.items())
