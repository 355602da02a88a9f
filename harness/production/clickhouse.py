"""ClickHouse as the second engine: a connection, sessions found by queries, and records sent to it."""

import fcntl
import logging
import os
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

from harness.errors import HarnessError, ResultsError, UsageError
from harness.plugins import extra_remedy
from harness.production.clickhouse_tables import (
    LOG_COLUMNS,
    OWN,
    TABLES,
    TRACE_COLUMNS,
    StoredRow,
    Table,
    add_columns,
    arrived,
    create_table,
    log_row,
    trace_row,
)
from harness.production.record import (
    EVALUATION,
    FEEDBACK,
    FEEDBACK_WORDS,
    LONGEST,
    MODEL,
    RELEASE,
    USER,
    RecordCleaner,
    StoredRecord,
    TraceRow,
    stored,
)
from harness.production.settings import ClickHouseSettings
from harness.production.storage import StoreLayout, in_pieces, oldest_records, readable_errors, transaction
from harness.traces.names import CONVERSATION_NAMES

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client
    from urllib3 import PoolManager


# One connection to ClickHouse by clickhouse-connect: over HTTP, or to chdb inside of the process.

_CONNECT_S: Final = 10
_ANSWER_S: Final = 300
_MAP: Final = "Map("
TTL_REMEDY: Final = "give the tables in ClickHouse a TTL"


class ClickHouseUnavailable(ResultsError):
    """ClickHouse did not answer, or refused; what was to be written is kept."""


class Database:
    """The tables of one `clickhouse:` section. Connects when it is first asked."""

    def __init__(self, settings: ClickHouseSettings) -> None:
        """Raises UsageError if the extra `clickhouse` is missing, or the variable of the password is not set."""
        self.settings = settings
        self._password = _password(settings)
        try:
            import clickhouse_connect
        except ImportError:
            raise UsageError("ClickHouse needs the extra `clickhouse`", remedy=extra_remedy("clickhouse")) from None
        self._connect = clickhouse_connect.get_client

    def table(self, table: Table) -> str:
        """The quoted name of a table."""
        name = self.settings.traces if table == "traces" else self.settings.logs
        return f"`{self.settings.database}`.`{name}`"

    @cached_property
    def _client(self) -> "Client":
        logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())  # else it prints tracebacks
        address = urlsplit(self.settings.url)
        if address.scheme == "chdb":
            if find_spec("chdb") is None:
                words = "`url: chdb:` in online.yaml, ClickHouse inside of the process, needs the extra `chdb`"
                raise UsageError(words, remedy=extra_remedy("chdb"))
            return self._connect(interface="chdb", path=address.path or ":memory:")
        return self._connect(
            interface=address.scheme,
            host=address.hostname or "",
            port=address.port or (8443 if address.scheme == "https" else 8123),
            username=self.settings.user,
            password=self._password,
            connect_timeout=_CONNECT_S,
            send_receive_timeout=_ANSWER_S,
            autogenerate_session_id=False,
            pool_mgr=_without_redirects(address),
        )

    def ask(self, query: str, values: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """The rows of a query; values are in it as `{name:Type}`. Raises ClickHouseUnavailable."""
        try:
            return self._client.query(query, parameters=dict(values)).result_rows
        except Exception as error:
            raise self._unavailable(error) from error

    def do(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        """Executes a statement. Raises ClickHouseUnavailable."""
        try:
            self._client.command(statement, parameters=dict(values or {}))
        except Exception as error:
            raise self._unavailable(error) from error

    def insert(self, table: Table, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Inserts rows; returns when ClickHouse has taken them. Raises ClickHouseUnavailable."""
        settings = {"max_partitions_per_insert_block": 0, "async_insert": 0}  # wrong clocks: many partitions
        name = self.settings.traces if table == "traces" else self.settings.logs
        try:
            self._client.insert(name, rows, column_names=columns, database=self.settings.database, settings=settings)
        except Exception as error:
            raise self._unavailable(error) from error

    def prepare(self) -> None:
        """Makes what the receiver writes to: the database, its tables and the added columns."""
        self.do(f"CREATE DATABASE IF NOT EXISTS `{self.settings.database}`")
        for table in TABLES:
            self.do(create_table(table, self.table(table)))
            self.do(add_columns(self.table(table)))

    def columns(self, table: Table) -> frozenset[str]:
        """The columns of a table; empty if there is none. Raises ResultsError for attributes that are not maps."""
        name = self.settings.traces if table == "traces" else self.settings.logs
        found = self.ask(
            "SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String}",
            {"database": self.settings.database, "table": name},
        )
        other = [kind for column, kind in found if column == "ResourceAttributes" and not kind.startswith(_MAP)]
        if other:
            raise ResultsError(
                f"{self.table(table)}: the column ResourceAttributes is of the type {other[0]}, not a map",
                remedy="export without `json: true`",
            )
        return frozenset(str(column) for column, _ in found)

    def _unavailable(self, error: Exception) -> HarnessError:
        if isinstance(error, HarnessError):
            return error
        lines = str(error).strip().splitlines()
        return ClickHouseUnavailable(
            f"ClickHouse at {self._shown_url()}: {(lines[0] if lines else type(error).__name__)[:300]}",
            remedy="see `clickhouse:` in online.yaml",
        )

    def _shown_url(self) -> str:
        address = urlsplit(self.settings.url)
        return f"{address.scheme}://{address.hostname or ''}{address.path}" + (
            f":{address.port}" if address.port else ""
        )


def _without_redirects(address: SplitResult) -> "PoolManager":
    """The driver's own connections, which follow no redirect: it would send rows to any server that one names."""
    from clickhouse_connect.driver.httputil import check_env_proxy, get_pool_manager

    proxy = check_env_proxy(address.scheme, address.hostname or "", address.port or 0)
    is_secure = address.scheme == "https"
    manager: PoolManager = get_pool_manager(
        http_proxy=None if is_secure else proxy, https_proxy=proxy if is_secure else None
    )
    manager.urlopen = partial(manager.urlopen, redirect=False)  # type: ignore[method-assign]  # no setting of the pool says so
    return manager


def _password(settings: ClickHouseSettings) -> str:
    if settings.password_variable is None:
        return ""
    found = os.environ.get(settings.password_variable)
    if found is None:
        raise UsageError(
            f"online.yaml: clickhouse.password_variable names {settings.password_variable}, which is not set",
            remedy="set it to the password",
        )
    return found


# The engine over ClickHouse: sessions are found by queries over the exporter's tables.
#
# A row that the receiver wrote has the receiver's time. For any other row the sender's clock is all there is: a time in
# the future counts as the beginning of today, so that no clock keeps a session from being scored.

_DAY_NS: Final = 86_400 * 10**9

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
            chosen = _row_facts(table, columns, name, _chosen_rows_sql(table, columns, sessions))
            named = " WHERE has({names:Array(String)}, session)" if sessions else ""
            wanted.append(f"SELECT trace FROM ({chosen}){named}")
        rows = f"SELECT * FROM ({' UNION ALL '.join(parts)}) WHERE trace IN ({' UNION ALL '.join(wanted)})"
        found = self._database.ask(_TRACES.format(rows=rows), values)
        return [TraceRow._make(row)._replace(trusted=bool(row[1])) for row in found]

    def records(self, traces: Sequence[tuple[str, str]]) -> list[StoredRecord]:
        pairs, found = set(traces), dict[str, StoredRecord]()
        wanted = sorted({trace for _, trace in pairs})
        for some in in_pieces(wanted):
            for one in self._records(some):
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

    def delete(self, traces: Sequence[tuple[str, str]]) -> None:
        by_source: dict[str, list[str]] = defaultdict(list)
        for source, trace in traces:
            by_source[source].append(trace)
        for table, columns in self._tables().items():
            for source, names in by_source.items():
                where = f"{_source_sql(columns)} = {{wanted:String}} AND has({{traces:Array(String)}}, {_trace(table)})"
                self._database.do(
                    f"DELETE FROM {self._database.table(table)} WHERE {where} SETTINGS lightweight_deletes_sync = 2",
                    self._values() | {"wanted": source, "traces": sorted(names)},
                )

    def _tables(self) -> dict[Table, frozenset[str]]:
        """The tables that are there, with their columns. Raises ResultsError if that of the traces is missing."""
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


def _first_attribute(table: Table, names: Sequence[str]) -> str:
    """The first of the attributes that is there, of the record or its resource."""
    expressions = [
        f"trimBoth({holder}['{name}'])" for name in names for holder in (_attributes(table), "ResourceAttributes")
    ]
    return f"leftUTF8(arrayFirst(x -> x != '', [{', '.join(expressions)}]), {LONGEST})"


def _has_own_columns(columns: frozenset[str]) -> bool:
    return columns >= {*OWN}


def _source_sql(columns: frozenset[str]) -> str:
    return "if(HarnessSource = '', {source:String}, HarnessSource)" if _has_own_columns(columns) else "{source:String}"


def _trace(table: Table) -> str:
    """The trace id; records without one form one trace for each session, as `stored` has it."""
    session = _first_attribute(table, CONVERSATION_NAMES)
    expression = f"if({session} = '', {_id(table, frozenset())}, {session})"
    return f"if(TraceId != '', TraceId, lower(substring(hex(SHA256(concat('session|', {expression}))), 1, 32)))"


def _start() -> str:
    return "greatest(0, toUnixTimestamp64Nano(Timestamp))"


def _end_sql(table: Table) -> str:
    return f"greatest({_start()}, {_start()} + toInt64(Duration))" if table == "traces" else _start()


def _received_sql(table: Table, columns: frozenset[str]) -> str:
    by_clock = f"if({_end_sql(table)} > {{now:Int64}}, {{today:Int64}}, {_end_sql(table)})"
    return f"if(HarnessReceived > 0, HarnessReceived, {by_clock})" if _has_own_columns(columns) else by_clock


def _id(table: Table, columns: frozenset[str]) -> str:
    """A digest of a row's content: the same record inserted twice is one."""
    expressions = ["TraceId", "SpanId", "Timestamp", _sorted(_attributes(table)), _sorted("ResourceAttributes")]
    if table == "traces":
        events = f"arrayMap(m -> {_sorted('m')}, `Events.Attributes`)"
        expressions += ["ParentSpanId", "SpanName", "Duration", "StatusCode", "StatusMessage", "`Events.Name`", events]
    else:
        expressions += ["Body"]
    expressions += ["HarnessSource", "HarnessTrusted"] if _has_own_columns(columns) else []
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
        "source": f"toString({_source_sql(columns)})",
        "trusted": "HarnessTrusted" if _has_own_columns(columns) else "false",
        "trace": _trace(table),
        "session": _first_attribute(table, CONVERSATION_NAMES),
        "user": _first_attribute(table, USER),
        "release": _first_attribute(table, RELEASE),
        "model": _first_attribute(table, MODEL),
        "feedback": _feedback(table, columns),
        "start_ns": _start(),
        "end_ns": _end_sql(table),
        "received_ns": _received_sql(table, columns),
        "is_error": error,
        "id": _id(table, columns),
    }
    return f"{_select(facts)} FROM {name} WHERE {where}"


def _chosen_rows_sql(table: Table, columns: frozenset[str], sessions: Sequence[str]) -> str:
    """Rows that may name one of the sessions, found by the exporter's own indexes; else those of the last days."""
    if sessions:
        holders = (_attributes(table), "ResourceAttributes")
        return "(" + " OR ".join(f"hasAny(mapValues({one}), {{names:Array(String)}})" for one in holders) + ")"
    recent = "Timestamp >= fromUnixTimestamp64Nano({from:Int64})"
    return f"({recent} OR HarnessReceived >= {{from:Int64}})" if _has_own_columns(columns) else recent


def _row_fields(table: Table, columns: frozenset[str], name: str) -> str:
    """One row a record, in the order of `StoredRow`."""
    is_span = table == "traces"
    no_texts, no_times = "CAST([], 'Array(String)')", "CAST([], 'Array(Int64)')"
    no_maps = "CAST([], 'Array(Map(String, String))')"
    fields = {
        "source": f"toString({_source_sql(columns)})",
        "trusted": "HarnessTrusted" if _has_own_columns(columns) else "false",
        "received_ns": _received_sql(table, columns),
        "trace": _trace(table),
        "kind": f"'{TABLES[table]}'",
        "trace_id": "TraceId",
        "span_id": "SpanId",
        "parent_id": "ParentSpanId" if is_span else "''",
        "name": _name(table, columns),
        "status": "toString(StatusCode)" if is_span else "''",
        "status_message": "StatusMessage" if is_span else "''",
        "start_ns": _start(),
        "end_ns": _end_sql(table),
        "attributes": f"CAST({_attributes(table)}, 'Map(String, String)')",
        "resource": "CAST(ResourceAttributes, 'Map(String, String)')",
        "event_names": "CAST(`Events.Name`, 'Array(String)')" if is_span else no_texts,
        "event_times": "arrayMap(x -> toUnixTimestamp64Nano(x), `Events.Timestamp`)" if is_span else no_times,
        "event_attributes": "CAST(`Events.Attributes`, 'Array(Map(String, String))')" if is_span else no_maps,
        "text": "''" if is_span else "Body",
        "body": "HarnessBody" if _has_own_columns(columns) else "''",
    }
    return f"{_select(fields)} FROM {name}"


def _select(columns: Mapping[str, str]) -> str:
    return "SELECT " + ", ".join(f"{expression} AS {column}" for column, expression in columns.items())


# While ClickHouse does not answer, records wait in the store's own file, and are sent in the next round. Records that
# were sent, and not yet removed when the receiver was killed, are sent twice; the engine counts them as one.

_ROWS: Final = 2_000


class RecordSender:
    """Empties the store's own file into ClickHouse."""

    def __init__(self, layout: StoreLayout, database: Database) -> None:
        self._layout = layout
        self._database = database
        self._is_prepared = False
        self.sent = 0
        """Records that ClickHouse took."""

    @property
    def waiting(self) -> int:
        """Records that were not sent yet."""
        with closing(self._layout.open()) as connection, readable_errors(self._layout.file):
            return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])

    def send(self) -> None:
        """Sends what waits, oldest first. Raises ClickHouseUnavailable: what was not taken is kept."""
        with closing(self._layout.open()) as connection, readable_errors(self._layout.file):
            while self._send_some(connection):
                pass

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Held while records are on their way: what is deleted meanwhile would arrive all the same."""
        with (self._layout.folder / ".sending").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _send_some(self, connection: sqlite3.Connection) -> int:
        with self.alone():
            waiting = oldest_records(connection, _ROWS)
            if waiting:
                self._insert([record for _, record in waiting])
                with transaction(connection):
                    connection.execute("DELETE FROM records WHERE number <= ?", [waiting[-1][0]])
                    connection.execute("DELETE FROM traces")
                    connection.execute("DELETE FROM users")
            self.sent += len(waiting)
        return len(waiting)

    def _insert(self, records: Sequence[StoredRecord]) -> None:
        if not self._is_prepared:
            self._database.prepare()
            self._is_prepared = True
        spans = [trace_row(one) for one in records if one.kind == "span"]
        logs = [log_row(one) for one in records if one.kind == "log"]
        if spans:
            self._database.insert("traces", TRACE_COLUMNS, spans)
        if logs:
            self._database.insert("logs", LOG_COLUMNS, logs)
