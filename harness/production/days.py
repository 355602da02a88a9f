"""Scores added up by day: what charts, reports and comparisons of populations are made from."""

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from harness.disk import flush_folder, make_folder
from harness.errors import ResultsError
from harness.processes import partial_name
from harness.production.engine import connect, has_columns, parquet, readable_errors, refuse_damaged
from harness.production.score_store import ScoreStore
from harness.production.scores import ANY_MODE, JUDGED, UNREADABLE_SESSION
from harness.values import Frozen

if TYPE_CHECKING:
    import duckdb


# `watch/history.parquet` holds the counts of the scores that were removed, of every score received before `until_ns`.
# Scores received before that moment count no more if they are still stored, so that a crash between writing the counts
# and removing the scores counts none twice.

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


FACETS: Final = ("release", "model", "prompt", "judge", "scorer", "category")
"""Columns of the facts that a shift may go with."""


class WeightedShare(Frozen):
    """A share of the whole population, estimated from the scored sessions by their weights."""

    signal: str
    group: str
    """"" for all sessions, else for example `release=2.4`."""
    share: float
    sessions: int
    """Scored ones."""
    effective: float
    """How many equally weighted sessions would be as informative (Kish)."""


class DayFacts:
    """The facts of one suite's scores. Counts of days go back before the oldest score if `history` holds them."""

    def __init__(self, scores: ScoreStore, suite: str, history: Path | None = None) -> None:
        """`history`: the file of `harness.production.days`. Raises ResultsError that names a damaged batch."""
        self._files = scores.facts()
        self._suite = suite
        self._history = history
        self._connection = connect()

    def days(self) -> list[str]:
        """Days with stored scores, in order."""
        return [row[0] for row in self._ask("SELECT DISTINCT day FROM facts WHERE suite = ? ORDER BY day")]

    def counted_days(self) -> list[str]:
        """Days with counts, in order: those with stored scores, and those whose scores retention has removed."""
        return sorted({one.day for one in self._stored_cells} | {*self.days()})

    @cached_property
    def _stored_cells(self) -> list[Cell]:
        return stored_cells(self._files, self._history, self._suite)

    def cells(self, patterns: Iterable[str], *, strata: Sequence[str] = STRATA) -> list[Cell]:
        """By day and stratum the signals that a pattern matches, of sessions that the base rate chose."""
        wanted = [*patterns]
        cells = [one for one in self._stored_cells if not one.stratum or one.stratum.partition("=")[0] in strata]
        totals = {(one.day, one.stratum): one.sessions for one in cells if one.signal == ANY_MODE}
        calls = {(one.day, one.stratum, one.signal): one.sessions for one in cells if one.signal.startswith("tool:")}
        kept: list[Cell] = []
        for one in cells:
            if not any(fnmatchcase(one.signal, pattern) for pattern in wanted):
                continue
            sessions = one.sessions
            if one.signal.startswith("mode:"):
                sessions = totals.get((one.day, one.stratum), sessions)
            elif one.signal.startswith("shape:"):
                tool = "tool:" + one.signal.removeprefix("shape:").rpartition("|")[0]
                sessions = calls.get((one.day, one.stratum, tool), sessions)
            kept.append(one._replace(sessions=sessions))
        return _with_absent_modes(kept, totals)

    def shares(self, facet: str, since: str, until: str) -> dict[str, float]:
        """The share of sessions by a facet's value from day `since` to day `until`, both included, of those that the
        base rate chose.
        """
        if facet not in FACETS:
            raise ValueError(f"{facet!r} is not a facet")
        signal = JUDGED if facet == "judge" else UNREADABLE_SESSION
        counts: dict[str, int] = {}
        for one in self._stored_cells:
            name, _, value = one.stratum.partition("=")
            if one.signal == signal and name == facet and since <= one.day <= until:
                counts[value] = counts.get(value, 0) + one.sessions
        total = sum(counts.values())
        return {value: count / total for value, count in sorted(counts.items())} if total else {}

    def scored(self, day: str) -> tuple[int, float]:
        """Sessions of the day that were scored by rules, and how many sessions they stand for."""
        of_readable = f"day = ? AND signal = '{UNREADABLE_SESSION}' AND value = 0"
        rows = self._ask(f"SELECT count(*), sum(weight) FROM facts WHERE suite = ? AND {of_readable}", day)
        return (int(rows[0][0]), float(rows[0][1] or 0.0)) if rows else (0, 0.0)

    def estimates(self, since: str, until: str, facets: Sequence[str] = ()) -> list[WeightedShare]:
        """Weighted shares by signal of the days `since` to `until`, both included: of all sessions, and by the values
        of each facet.

        Failure modes are over all sessions in which they were searched for. Metrics and durations are weighted means.
        """
        unknown = [facet for facet in facets if facet not in FACETS]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is not a facet")
        groups = ["''", *(f"'{facet}=' || {facet}" for facet in facets)]
        selects = (
            f"SELECT {place} AS place, signal, {group} AS facet, sum(value * weight), sum(weight), count(*),"
            " sum(weight * weight) FROM chosen GROUP BY ALL"
            for place, group in enumerate(groups)
        )
        query = (
            ", chosen AS (SELECT * FROM facts WHERE suite = ? AND day BETWEEN ? AND ? AND NOT signal LIKE 'shape:%'"
            f" AND signal <> '{JUDGED}') {' UNION ALL '.join(selects)} ORDER BY 1, 2, 3"
        )
        rows = [row[1:] for row in self._ask(query, since, until)]
        totals = {row[1]: row for row in rows if row[0] == ANY_MODE}
        found: list[WeightedShare] = []
        for signal, name, total, weights, count, squares in rows:
            base = totals.get(name) if signal.startswith("mode:") else None
            weight, sessions, squared = (weights, count, squares) if base is None else (base[3], base[4], base[5])
            found.append(
                WeightedShare(
                    signal=signal,
                    group=name,
                    share=total / weight,
                    sessions=sessions,
                    effective=weight * weight / squared,
                )
            )
        return found

    def rows(self, since: str, until: str) -> list[tuple[str, str, int, str, float, float]]:
        """(session, category, steps, signal, value, weight), for comparisons of populations."""
        return [
            (str(row[0]), str(row[1]), int(row[2]), str(row[3]), float(row[4]), float(row[5]))
            for row in self._ask(
                "SELECT session, category, steps, signal, value, weight FROM facts WHERE suite = ?"
                " AND day BETWEEN ? AND ? AND NOT signal LIKE 'shape:%'",
                since,
                until,
            )
        ]

    def _ask(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        if not self._files:
            return []
        return asked(self._connection, self._files, latest_facts(self._files) + query, [self._suite, *values])


def _with_absent_modes(cells: list[Cell], totals: dict[tuple[str, str], int]) -> list[Cell]:
    """Days on which a mode was never found have no row; its rate is 0 there, and not unknown."""
    modes = {(one.signal, one.stratum) for one in cells if one.signal.startswith("mode:")}
    there = {(one.day, one.signal, one.stratum) for one in cells}
    absent = [
        Cell(day, signal, stratum, 0, sessions)
        for signal, stratum in modes
        for (day, place), sessions in totals.items()
        if place == stratum and (day, signal, stratum) not in there
    ]
    return cells + absent
