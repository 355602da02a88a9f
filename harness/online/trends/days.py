"""Scores added up by day: what charts, reports and comparisons of populations are made from."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from harness.online.score_store import ScoreStore
from harness.online.scores.facts import ANY_MODE, JUDGED, UNREADABLE_SESSION
from harness.online.storage.engine import connect
from harness.online.trends.cells import STRATA, Cell, asked, latest_facts, stored_cells
from harness.values import Frozen

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
    """The facts of one suite's scores. Counts of days go back before the oldest score where `history` holds them."""

    def __init__(self, scores: ScoreStore, suite: str, history: Path | None = None) -> None:
        """`history`: the file of `harness.online.trends.cells`. Raises ResultsError that names a damaged batch."""
        self._files = scores.facts()
        self._suite = suite
        self._history = history
        self._connection = connect()

    def days(self) -> list[str]:
        """Days with stored scores, in order."""
        return [row[0] for row in self._ask("SELECT DISTINCT day FROM facts WHERE suite = ? ORDER BY day")]

    def counted_days(self) -> list[str]:
        """Days with counts, in order: those with stored scores, and those whose scores retention has removed."""
        return sorted({one.day for one in self._stored} | {*self.days()})

    @cached_property
    def _stored(self) -> list[Cell]:
        return stored_cells(self._files, self._history, self._suite)

    def cells(self, patterns: Iterable[str], *, strata: Sequence[str] = STRATA) -> list[Cell]:
        """By day and stratum the signals that a pattern matches, of sessions that the base rate chose."""
        wanted = [*patterns]
        cells = [one for one in self._stored if not one.stratum or one.stratum.partition("=")[0] in strata]
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
        for one in self._stored:
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
