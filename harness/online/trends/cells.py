"""Counts by day: what charts are made from, of the scores that are stored and of those that retention has removed.

`watch/history.parquet` holds the counts of the scores that were removed, of every score received before `until_ns`.
Scores received before that moment count no more where they are still stored, so that a crash between writing the
counts and removing the scores counts none twice.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from harness.disk import flush_folder, make_folder
from harness.errors import ResultsError
from harness.online.score_store import ScoreStore
from harness.online.scores.facts import JUDGED, UNREADABLE_SESSION
from harness.online.storage.engine import connect, parquet
from harness.online.storage.flat_files import has_columns, readable_errors, refuse_damaged
from harness.process_identity import partial_name

if TYPE_CHECKING:
    import duckdb

HISTORY: Final = "history.parquet"
STRATA: Final = ("category", "model", "release", "prompt")
"""Columns of the facts by whose values sessions have charts of their own."""
_SHARES: Final = {"scorer": UNREADABLE_SESSION, "judge": JUDGED}
"""Columns of which only the number of sessions is counted, by a signal that every session has."""
_COLUMNS: Final = ("until_ns", "suite", "day", "signal", "stratum", "bad", "sessions")
_NO_RATE: Final = "signal LIKE 'metric:%' OR signal IN ('duration_s', 'steps')"
_REMEDY: Final = (
    "delete {name}: counts of a batch are made again from the scores beside it; without history.parquet, charts begin"
    " at the oldest stored score"
)


class Cell(NamedTuple):
    """One day of one signal in one stratum: sessions in which it was bad, and all."""

    day: str
    signal: str
    stratum: str
    """"" for all sessions, else for example `category=NAME`."""
    bad: int
    sessions: int


def latest_facts(files: Sequence[Path]) -> str:
    """SQL that begins a query: `facts`, the rows of the latest score of each session, kind, suite and rubric.

    A criterion that two rubrics of a suite have is two signals, which name their rubrics.
    """
    return f"""
WITH latest AS (
    SELECT * FROM {parquet(files)}
    QUALIFY dense_rank() OVER (PARTITION BY suite, session, kind, rubric ORDER BY scored_at DESC) = 1
), shared AS (
    SELECT suite, signal FROM latest WHERE kind = 'judge' AND signal LIKE 'criterion:%'
    GROUP BY ALL HAVING count(DISTINCT rubric) > 1
), facts AS (
    SELECT latest.* REPLACE (
        CASE WHEN shared.signal IS NULL THEN latest.signal
        ELSE 'criterion:' || latest.rubric || '/' || substr(latest.signal, 11) END AS signal
    )
    FROM latest LEFT JOIN shared ON latest.suite = shared.suite AND latest.signal = shared.signal
)
"""


def stored_cells(files: Sequence[Path], history: Path | None, suite: str) -> list[Cell]:
    """Every count of the suite, of sessions that the base rate of sampling chose, in order.

    Raises ResultsError that names a damaged file.
    """
    sources, values = [], list[object]()
    kept = history is not None and history.is_file()
    if history is not None and kept:
        sources.append(f"SELECT * EXCLUDE (until_ns, suite) FROM {parquet([history])} WHERE suite = ?")
        values.append(suite)
    if files:
        since = f"(SELECT coalesce(max(until_ns), 0) FROM {parquet([history])})" if history and kept else "0"
        sources.append(f"SELECT * EXCLUDE suite FROM ({_counts(f'received_ns >= {since}')}) WHERE suite = ?")
        values.append(suite)
    if not sources:
        return []
    begin = latest_facts(files) if files else ""
    query = (
        f"{begin} SELECT day, signal, stratum, sum(bad)::BIGINT, sum(sessions)::BIGINT"
        f" FROM ({' UNION ALL BY NAME '.join(sources)}) GROUP BY ALL ORDER BY ALL"
    )
    with connect() as connection:
        rows = asked(connection, [*files, *([history] if history is not None and kept else [])], query, values)
    return [Cell(*row) for row in rows]


def asked(
    connection: "duckdb.DuckDBPyConnection", files: Sequence[Path], query: str, values: Sequence[object]
) -> list[tuple[Any, ...]]:
    """The rows of a query over these files. Raises ResultsError that names a damaged one."""
    import duckdb

    try:
        return connection.execute(query, list(values)).fetchall()
    except duckdb.Error as error:
        refuse_damaged(files, _REMEDY)
        raise ResultsError(f"{files[0].parent}: {str(error)[:300]}") from error


def keep_history(scores: ScoreStore, folder: Path, until_ns: int) -> None:
    """Adds the counts of all scores received before `until_ns` to the history, which are to be removed then.

    Raises ResultsError that names a damaged file, or a disk that is full.
    """
    files, path = scores.facts(), folder / HISTORY
    if not files:
        return
    old = has_columns(path, _COLUMNS)
    since = f"(SELECT coalesce(max(until_ns), 0) FROM {parquet([path])})" if old else "0"
    sources = [_counts(f"received_ns >= {since} AND received_ns < {int(until_ns)}")]
    sources += [f"SELECT * EXCLUDE until_ns FROM {parquet([path])}"] if old else []
    make_folder(folder)
    temporary = path.with_name(partial_name(path.name))
    query = (
        f"COPY ({latest_facts(files)} SELECT {int(until_ns)}::BIGINT AS until_ns, suite, day, signal, stratum,"
        f" sum(bad)::BIGINT AS bad, sum(sessions)::BIGINT AS sessions FROM ({' UNION ALL BY NAME '.join(sources)})"
        f" GROUP BY ALL ORDER BY ALL) TO '{str(temporary).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)"
    )
    try:
        with connect() as connection, readable_errors(path, "free some space there; no score was removed"):
            connection.execute(query)
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.replace(path)
        flush_folder(folder)
    finally:
        temporary.unlink(missing_ok=True)


def _counts(where: str) -> str:
    """SELECT of suite, day, signal, stratum, bad and sessions over `facts`."""
    groups = [("''", f"NOT ({_NO_RATE})")]
    groups += [(f"'{name}=' || {name}", f"NOT ({_NO_RATE})") for name in STRATA]
    groups += [(f"'{name}=' || {name}", f"signal = '{signal}'") for name, signal in _SHARES.items()]
    return " UNION ALL ".join(
        f"SELECT suite, day, signal, {stratum} AS stratum, count(*) FILTER (value > 0.5) AS bad, count(*) AS sessions"
        f" FROM facts WHERE in_base AND ({where}) AND ({which}) GROUP BY ALL"
        for stratum, which in groups
    )
