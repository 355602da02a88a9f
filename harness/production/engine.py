"""The interface of engines: where records are stored, and the few questions that the store asks of them.

`EmbeddedEngine` reads the Parquet parts and the journal of a store's folder with DuckDB, which the receiver and
`Compactor` write; `ClickHouseEngine` the tables of the Collector's exporter.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from harness.errors import ResultsError, UsageError
from harness.plugins import extra_remedy
from harness.production.record import COLUMNS, StoredRecord, TraceRow, trace_rows
from harness.production.storage import StoreLayout, deletion_filter, journal_lines, open_index, part_ranges, segments

if TYPE_CHECKING:
    import duckdb


_TRIES: Final = 5
_FEW: Final = 20
_LOOKED_UP: Final = 500
"""Names that are looked up in the indexes, one by one; more of them are found faster by reading the columns."""
MEMORY_MB: Final = 512
Row = TypeVar("Row")


class SpanEngine(Protocol):
    """Reads what was stored. All methods raise ResultsError if the data cannot be reached."""

    def traces(self, *, received_since_ns: int = 0, sessions: Sequence[str] = ()) -> Iterable[TraceRow]:
        """Every trace that got a record since then, with all its records counted; `sessions`: only of these ids."""
        ...

    def records(self, traces: Sequence[tuple[str, str]]) -> list[StoredRecord]:
        """The records of traces, given as (source, trace id): each once, in the order of their start."""
        ...

    def named(self, sessions: Sequence[str]) -> tuple[list[TraceRow], list[StoredRecord]]:
        """`traces` of these session ids, and their `records`."""
        ...

    def delete(self, traces: Sequence[tuple[str, str]]) -> None:
        """Removes what is outside of the store's folder; the files in it are rewritten by the store."""
        ...


def _any_of(column: str, count: int) -> str:
    """A condition with a placeholder for each of a few values, or with one for a list of many."""
    if count > _FEW:
        return f"{column} IN (SELECT unnest(?))"
    return f"{column} IN ({', '.join('?' * count)})"


def connect() -> "duckdb.DuckDBPyConnection":
    """A connection in memory with bounded resources. Raises UsageError if DuckDB is not installed."""
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


class _Files(NamedTuple):
    """What is read for one question: parts, and the segments of the journal that no part covers."""

    parts: Sequence[Path]
    fresh: Sequence[Path]

    def holding(self, traces: Sequence[str]) -> "_Files":
        """Without the parts that hold none of these traces, as their indexes say."""
        if len(traces) > _LOOKED_UP:
            return self
        return _Files([part for part in self.parts if _may_hold(part, traces)], self.fresh)


class EmbeddedEngine:
    """DuckDB over the files of a store. One object for each thread."""

    def __init__(self, layout: StoreLayout) -> None:
        self._layout = layout
        self._connection = connect()

    def traces(self, *, received_since_ns: int = 0, sessions: Sequence[str] = ()) -> list[TraceRow]:
        return self._retried(lambda files: self._traces(files, received_since_ns, sessions))

    def _traces(self, files: _Files, received_since_ns: int, sessions: Sequence[str]) -> list[TraceRow]:
        where, values = ["true"], list[Any]()
        if received_since_ns:
            where.append("(source, trace_id) IN (SELECT (source, trace_id) FROM records WHERE received_ns >= ?)")
            values.append(received_since_ns)
        if sessions:
            named = self._traces_naming(files, sessions)
            if not named:
                return []
            where.append(_any_of("trace_id", len(named)))
            values += named if len(named) <= _FEW else [named]
            files = files.holding(named)
        rows = self._ask(files, _TRACES.format(source="records", where=" AND ".join(where)), values)
        return [TraceRow(*row) for row in rows]

    def _traces_naming(self, files: _Files, sessions: Sequence[str]) -> list[str]:
        """Asked for first: with the ids at hand, few files are read, and those by their statistics."""
        names = sorted({*sessions})
        found, bare = set[str](), list[Path]()
        for part in files.parts:
            index = open_index(part) if len(names) <= _LOOKED_UP else None
            if index is None:
                bare.append(part)
                continue
            with index:
                found.update(trace_id for name in names for trace_id in index.traces_naming(name))
        if bare or files.fresh:
            query = f"SELECT DISTINCT trace_id FROM records WHERE {_any_of('session', len(names))}"
            values = names if len(names) <= _FEW else [names]
            found.update(row[0] for row in self._ask(_Files(bare, files.fresh), query, values))
        return sorted(found)

    def records(self, traces: Sequence[tuple[str, str]]) -> list[StoredRecord]:
        return self._retried(lambda files: self._records(files, traces))

    def _records(self, files: _Files, traces: Sequence[tuple[str, str]]) -> list[StoredRecord]:
        pairs = set(traces)
        found = self._every_record(files, sorted({trace_id for _, trace_id in traces}))
        return _each_once(one for one in found if (one.source, one.trace_id) in pairs)

    def named(self, sessions: Sequence[str]) -> tuple[list[TraceRow], list[StoredRecord]]:
        """One query for both: reading a part costs more than what is read of it."""
        found = self._retried(lambda files: self._every_record(files, self._traces_naming(files, sessions)))
        return trace_rows(found), _each_once(found)

    def _every_record(self, files: _Files, trace_ids: Sequence[str]) -> list[StoredRecord]:
        """Of all senders, and as often as they were stored."""
        if not trace_ids:
            return []
        values: list[Any] = [*trace_ids] if len(trace_ids) <= _FEW else [[*trace_ids]]
        query = f"SELECT {', '.join(COLUMNS)} FROM records WHERE {_any_of('trace_id', len(trace_ids))}"
        return [StoredRecord(*row) for row in self._ask(files.holding(trace_ids), query, values)]

    def delete(self, traces: Sequence[tuple[str, str]]) -> None:
        """Nothing is outside of the folder."""

    def _retried(self, work: Callable[[_Files], list[Row]]) -> list[Row]:
        """If compaction has replaced a file meanwhile, the whole question is asked of the files as they are now."""
        for tries_left in reversed(range(_TRIES)):
            try:
                return work(self._files())
            except Exception as error:
                import duckdb

                if not isinstance(error, duckdb.IOException | FileNotFoundError) or not tries_left:
                    raise _unreadable(error, self._layout.folder) from error
        return []

    def _files(self) -> _Files:
        journal = segments(self._layout.journal)  # before the parts: what becomes one meanwhile is seen in either
        ranges = part_ranges(self._layout.parts)
        covered = [(first, last) for first, last, _ in ranges]
        fresh = [path for number, path in journal if not any(first <= number <= last for first, last in covered)]
        return _Files([path for *_, path in ranges], fresh)

    def _ask(self, files: _Files, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._connection.execute(self._with_records(files, query), list(values)).fetchall()

    def _with_records(self, files: _Files, query: str) -> str:
        sources = [f"SELECT {', '.join(COLUMNS)} FROM {parquet(files.parts)}"] if files.parts else []
        sources += [f"SELECT {', '.join(COLUMNS)} FROM {journal_lines(files.fresh)}"] if files.fresh else []
        if not sources:
            nothing = ", ".join(f"NULL::{kind} AS {name}" for name, kind in COLUMNS.items())
            sources = [f"SELECT {nothing} WHERE false"]
        union = " UNION ALL ".join(sources)
        kept = deletion_filter(self._layout.deleted)
        return f"WITH records AS (SELECT * FROM ({union}) WHERE {kept}) {query}"


def _each_once(records: Iterable[StoredRecord]) -> list[StoredRecord]:
    """The first of each id that was received, in the order of their start."""
    found = {one.id: one for one in sorted(records, key=lambda one: -one.received_ns)}
    return sorted(found.values(), key=lambda one: (one.start_ns, one.end_ns, one.id))


def _may_hold(part: Path, traces: Sequence[str]) -> bool:
    index = open_index(part)
    if index is None:
        return True
    with index:
        return any(map(index.holds, traces))


def parquet(paths: Sequence[Path]) -> str:
    """A table function of DuckDB over part files."""
    listed = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{listed}])"


def _unreadable(error: Exception, folder: Path) -> ResultsError:
    first = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
    return ResultsError(
        f"{folder}: the store cannot be read: {first}",
        remedy="mend the file that is named, or move it out of the store",
    )


_MAGIC: Final = b"PAR1"
_TAIL: Final = 8
_LONGEST_FOOTER: Final = 16 << 20


def has_columns(path: Path, columns: Collection[str]) -> bool:
    """Whether the file begins and ends as a Parquet file does, and its footer names all of these columns."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            if size < len(_MAGIC) + _TAIL:
                return False
            stream.seek(size - _TAIL)
            tail = stream.read(_TAIL)
            length = int.from_bytes(tail[:4], "little")
            if tail[4:] != _MAGIC or length > min(_LONGEST_FOOTER, size - _TAIL):
                return False
            stream.seek(size - _TAIL - length)
            footer = stream.read(length)
    except OSError:
        return False
    return all(name.encode() in footer for name in columns)


@contextmanager
def readable_errors(path: Path, remedy: str) -> Iterator[None]:
    """What DuckDB cannot read or write is a ResultsError that names the path."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        first = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
        raise ResultsError(f"{path}: {first}", remedy=remedy) from error


def refuse_damaged(files: Sequence[Path], remedy: str) -> None:
    """Raises ResultsError that names the first of these files that cannot be read to its end."""
    for path in files:
        with connect() as connection, readable_errors(path, remedy.format(name=path.name)):
            connection.execute(f"SELECT max(hash(COLUMNS(*))) FROM {parquet([path])}").fetchall()
