"""The engine seam: where records lie, and the few questions that the store asks of them.

`EmbeddedEngine` reads the Parquet parts and the journal of a store's folder with DuckDB. An engine only reads; the
receiver writes the journal and `Compactor` the parts.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from harness.distribution import extra_remedy
from harness.errors import ResultsError, UsageError
from harness.online.deletion import deletion_filter
from harness.online.layout import StoreLayout, part_ranges, segments
from harness.online.record import COLUMNS, StoredRecord

if TYPE_CHECKING:
    import duckdb

_TRIES: Final = 5
_FEW: Final = 20
_LONGEST_LINE: Final = 32 << 20
"""Bytes; a record's texts have up to 2 MB characters, of which one takes up to twelve bytes."""
MEMORY_MB: Final = 512


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


class SpanEngine(Protocol):
    """Reads what was stored. Both methods raise ResultsError where the data cannot be read."""

    def traces(self, *, received_since_ns: int = 0, sessions: Sequence[str] = ()) -> Iterable[TraceRow]:
        """Every trace that got a record since then, with all its records counted; `sessions`: only of these ids."""
        ...

    def records(self, traces: Sequence[tuple[str, str]]) -> list[StoredRecord]:
        """The records of traces, given as (source, trace id): each once, in the order of their start."""
        ...


def _any_of(column: str, count: int) -> str:
    """A condition with a placeholder for each of a few values, or with one for a list of many."""
    if count > _FEW:
        return f"{column} IN (SELECT unnest(?))"
    return f"{column} IN ({', '.join('?' * count)})"


def connect() -> "duckdb.DuckDBPyConnection":
    """A connection in memory with bounded resources. Raises UsageError where DuckDB is not installed."""
    try:
        import duckdb
    except ImportError:
        raise UsageError("the session store needs the extra `online`", remedy=extra_remedy("online")) from None
    connection = duckdb.connect()
    connection.execute(f"SET threads = 2; SET memory_limit = '{MEMORY_MB}MB'; SET parquet_metadata_cache = true")
    connection.execute("SET preserve_insertion_order = false; SET autoinstall_known_extensions = false")
    return connection


_TRACES: Final = """
SELECT source, bool_and(trusted) AS trusted, trace_id,
    coalesce(arg_min(session, (start_ns, id)) FILTER (session <> ''), '') AS session,
    coalesce(list(DISTINCT user_id ORDER BY user_id) FILTER (user_id <> ''), []) AS users,
    coalesce(arg_min(release, (start_ns, id)) FILTER (release <> ''), '') AS release,
    coalesce(arg_min(model, (start_ns, id)) FILTER (model <> ''), '') AS model,
    count(DISTINCT id) AS records, count(DISTINCT id) FILTER (status = 'error') AS errors, min(feedback) AS feedback,
    min(start_ns) AS start_ns, max(end_ns) AS end_ns, min(received_ns) AS received_first_ns,
    max(received_ns) AS received_last_ns, md5(string_agg(DISTINCT id ORDER BY id)) AS digest
FROM {source} WHERE {where}
GROUP BY source, trace_id
"""


class EmbeddedEngine:
    """DuckDB over the files of a store. One object for each thread."""

    def __init__(self, layout: StoreLayout) -> None:
        self._layout = layout
        self._connection = connect()

    def traces(self, *, received_since_ns: int = 0, sessions: Sequence[str] = ()) -> list[TraceRow]:
        where, values = ["true"], list[Any]()
        if received_since_ns:
            where.append("(source, trace_id) IN (SELECT (source, trace_id) FROM records WHERE received_ns >= ?)")
            values.append(received_since_ns)
        if sessions:
            named = self._traces_naming(sessions)
            if not named:
                return []
            where.append(_any_of("trace_id", len(named)))
            values += named if len(named) <= _FEW else [named]
        rows = self._ask(_TRACES.format(source="records", where=" AND ".join(where)), values)
        return [TraceRow(*row) for row in rows]

    def _traces_naming(self, sessions: Sequence[str]) -> list[str]:
        """Asked for first: with the ids at hand, the files are searched by their statistics instead of read."""
        names = sorted({*sessions})
        condition = _any_of("session", len(names))
        rows = self._ask(
            f"SELECT DISTINCT trace_id FROM records WHERE {condition}", names if len(names) <= _FEW else [names]
        )
        return sorted(row[0] for row in rows)

    def records(self, traces: Sequence[tuple[str, str]]) -> list[StoredRecord]:
        wanted = sorted({trace_id for _, trace_id in traces})
        if not wanted:
            return []
        listed = ", ".join(COLUMNS)
        values: list[Any] = [*wanted] if len(wanted) <= _FEW else [wanted]
        rows = self._ask(f"SELECT {listed} FROM records WHERE {_any_of('trace_id', len(wanted))}", values)
        pairs = set(traces)
        found = {row[0]: StoredRecord(*row) for row in sorted(rows, key=lambda row: -row[2])}
        kept = [one for one in found.values() if (one.source, one.trace_id) in pairs]
        return sorted(kept, key=lambda one: (one.start_ns, one.end_ns, one.id))

    def _ask(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """A file that compaction has replaced meanwhile is looked for again."""
        for tries_left in reversed(range(_TRIES)):
            try:
                return self._connection.execute(self._with_records(query), list(values)).fetchall()
            except Exception as error:
                import duckdb

                if not isinstance(error, duckdb.IOException | FileNotFoundError) or not tries_left:
                    raise _unreadable(error, self._layout.folder) from error
        return []

    def _with_records(self, query: str) -> str:
        journal = segments(self._layout.journal)  # before the parts: what becomes one meanwhile is seen in either
        ranges = part_ranges(self._layout.parts)
        covered = [(first, last) for first, last, _ in ranges]
        fresh = [path for number, path in journal if not any(first <= number <= last for first, last in covered)]
        sources = [f"SELECT {', '.join(COLUMNS)} FROM {parquet([path for *_, path in ranges])}"] if ranges else []
        sources += [f"SELECT {', '.join(COLUMNS)} FROM {journal_lines(fresh)}"] if fresh else []
        if not sources:
            nothing = ", ".join(f"NULL::{kind} AS {name}" for name, kind in COLUMNS.items())
            sources = [f"SELECT {nothing} WHERE false"]
        union = " UNION ALL ".join(sources)
        kept = deletion_filter(self._layout.deleted)
        return f"WITH records AS (SELECT * FROM ({union}) WHERE {kept}) {query}"


def parquet(paths: Sequence[Path]) -> str:
    """A table function of DuckDB over part files."""
    return f"read_parquet([{_quoted(paths)}])"


def journal_lines(paths: Sequence[Path]) -> str:
    """A subquery over journal segments that passes over what is no whole record, such as a torn last line.

    DuckDB's own reader of JSON lines is not used: with `ignore_errors` it returns rows for broken lines.
    """
    shape = ", ".join(f'"{name}": "{"JSON" if name == "body" else kind}"' for name, kind in COLUMNS.items())
    names = ", ".join(f"told.{name} AS {name}" for name in COLUMNS)
    lines = (
        f"read_csv([{_quoted(paths)}], header = false, auto_detect = false, delim = '\x01', quote = '', escape = '',"
        f" columns = {{line: 'VARCHAR'}}, max_line_size = {_LONGEST_LINE},"
        f" buffer_size = {_LONGEST_LINE + 1}, parallel = false)"
    )
    whole = "CASE WHEN json_valid(line) THEN line ELSE '{}' END"  # a filter would come too late
    return (
        f"(SELECT {names} FROM (SELECT json_transform({whole}, '{{{shape}}}') AS told FROM {lines})"
        " WHERE told.id IS NOT NULL)"
    )


def _quoted(paths: Sequence[Path]) -> str:
    return ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)


def _unreadable(error: Exception, folder: Path) -> ResultsError:
    first = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
    return ResultsError(f"{folder}: the store cannot be read: {first}", remedy="see `harness online check`")
