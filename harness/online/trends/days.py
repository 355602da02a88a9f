"""Scores added up by day: what charts, reports and comparisons of populations are made from."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from harness.online.storage.engine import connect, parquet
from harness.values import Frozen

_ALL: Final = "any_failure_mode"
"""A signal that every session has which was scored by rules."""
FACETS: Final = ("release", "model", "prompt", "judge", "scorer", "category")
"""Columns of the facts that a shift may go with."""

_LATEST: Final = """
WITH facts AS (
    SELECT * FROM {source} WHERE suite = ?
    QUALIFY dense_rank() OVER (PARTITION BY session, kind ORDER BY scored_at DESC) = 1
)
"""


class Cell(NamedTuple):
    """One day of one signal in one stratum: sessions in which it was bad, and all."""

    day: str
    signal: str
    stratum: str
    """"" for all sessions, else `category=NAME` or `model=NAME`."""
    bad: int
    sessions: int


class Estimate(Frozen):
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
    """The facts of one suite's scores; reads the files when it is asked."""

    def __init__(self, files: Sequence[Path], suite: str) -> None:
        self._files = list(files)
        self._suite = suite
        self._connection = connect()

    def days(self) -> list[str]:
        """Days with scores, in order."""
        return [row[0] for row in self._ask("SELECT DISTINCT day FROM facts ORDER BY day")]

    def cells(self, patterns: Iterable[str], *, strata: bool = True) -> list[Cell]:
        """By day and stratum the signals that a pattern matches, of sessions that the base rate chose."""
        wanted = [*patterns]
        groups = ["''"] + (["'category=' || category", "'model=' || model"] if strata else [])
        found: list[Cell] = []
        for group in groups:
            found += self._cells(group, wanted)
        return found

    def _cells(self, group: str, patterns: Sequence[str]) -> list[Cell]:
        rows = self._ask(
            f"SELECT day, signal, {group} AS stratum, count(*) FILTER (value > 0.5) AS bad, count(*) AS sessions"
            " FROM facts WHERE in_base GROUP BY ALL ORDER BY ALL"
        )
        cells = [Cell(*row) for row in rows]
        totals = {(one.day, one.stratum): one.sessions for one in cells if one.signal == _ALL}
        calls = {(one.day, one.stratum, one.signal): one.sessions for one in cells if one.signal.startswith("tool:")}
        kept: list[Cell] = []
        for one in cells:
            if not any(fnmatchcase(one.signal, pattern) for pattern in patterns):
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
        """The share of sessions by a facet's value from day `since` to day `until`, both included."""
        if facet not in FACETS:
            raise ValueError(f"{facet!r} is no facet")
        kind = "judge" if facet == "judge" else "rules"
        rows = self._ask(
            f"SELECT {facet}, count(DISTINCT session) FROM facts"
            f" WHERE day BETWEEN ? AND ? AND kind = '{kind}' GROUP BY 1",
            since,
            until,
        )
        total = sum(count for _, count in rows)
        return {value: count / total for value, count in rows} if total else {}

    def population(self, day: str) -> float:
        """How many sessions of the day the scored ones stand for."""
        rows = self._ask("SELECT sum(weight) FROM facts WHERE day = ? AND signal = 'any_failure_mode'", day)
        return float(rows[0][0] or 0.0) if rows else 0.0

    def estimates(self, since: str, until: str, facets: Sequence[str] = ()) -> list[Estimate]:
        """Weighted shares by signal of the days `since` to `until`, both included: of all sessions, and by the values
        of each facet.

        Failure modes are over all sessions that were scored by rules. Metrics and durations are weighted means.
        """
        strange = [facet for facet in facets if facet not in FACETS]
        if strange:
            raise ValueError(f"{strange[0]!r} is no facet")
        groups = ["''", *(f"'{facet}=' || {facet}" for facet in facets)]
        selects = (
            f"SELECT {place} AS place, signal, {group} AS facet, sum(value * weight), sum(weight), count(*),"
            " sum(weight * weight) FROM facts WHERE day BETWEEN ? AND ? AND NOT signal LIKE 'shape:%' GROUP BY ALL"
            for place, group in enumerate(groups)
        )
        found_rows = self._ask(f"{' UNION ALL '.join(selects)} ORDER BY 1, 2, 3", *(since, until) * len(groups))
        rows = [row[1:] for row in found_rows]
        totals = {row[1]: row for row in rows if row[0] == _ALL}
        found: list[Estimate] = []
        for signal, name, total, weights, count, squares in rows:
            base = totals.get(name) if signal.startswith("mode:") else None
            weight, sessions, squared = (weights, count, squares) if base is None else (base[3], base[4], base[5])
            found.append(
                Estimate(
                    signal=signal,
                    group=name,
                    share=total / weight,
                    sessions=sessions,
                    effective=weight * weight / squared,
                )
            )
        return found

    def rows(self, since: str, until: str) -> list[tuple[str, str, int, str, float, float]]:
        """(session, category, steps, signal, value, weight) of rates, for comparisons of populations."""
        return [
            (str(row[0]), str(row[1]), int(row[2]), str(row[3]), float(row[4]), float(row[5]))
            for row in self._ask(
                "SELECT session, category, steps, signal, value, weight FROM facts WHERE day BETWEEN ? AND ?"
                " AND NOT signal LIKE 'shape:%'",
                since,
                until,
            )
        ]

    def _ask(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        if not self._files:
            return []
        whole = _LATEST.format(source=parquet(self._files)) + query
        return self._connection.execute(whole, [self._suite, *values]).fetchall()


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
