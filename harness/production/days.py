"""Scores added up by day: what charts, reports and comparisons of populations are made from."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Final, NamedTuple

from harness.production.score_store import STRATA, ScoreStore
from harness.production.scores import ANY_MODE, JUDGED, UNREADABLE_SESSION
from harness.values import Frozen


class Cell(NamedTuple):
    """One day of one signal in one stratum: sessions in which it was bad, and all."""

    day: str
    signal: str
    stratum: str
    """"" for all sessions, else for example `category=NAME`."""
    bad: int
    sessions: int


FACETS: Final = ("release", "model", "prompt", "judge", "scorer", "category")
"""Columns of the scores that a shift may go with."""
_OF_SUITE: Final = "scores JOIN facts ON score = number WHERE suite = ? AND latest"


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
    """The facts of one suite's scores: of the latest score of each session, kind and rubric.

    Counts of days go back before the oldest score, which retention has removed. A criterion that two rubrics of the
    suite have is two signals, which name their rubrics.
    """

    def __init__(self, scores: ScoreStore, suite: str) -> None:
        self._scores = scores
        self._suite = suite

    def days(self) -> list[str]:
        """Days with stored scores, in order."""
        query = "SELECT DISTINCT day FROM scores WHERE suite = ? AND latest AND number IN (SELECT score FROM facts)"
        return sorted(row[0] for row in self._scores.ask(query, self._suite))

    def counted_days(self) -> list[str]:
        """Days with counts, in order: those with stored scores, and those whose scores retention has removed."""
        return sorted({one.day for one in self._stored_cells} | {*self.days()})

    @cached_property
    def _stored_cells(self) -> list[Cell]:
        """Every count of the suite, of sessions that the base rate of sampling chose, in order."""
        rows = self._scores.ask(
            "SELECT day, signal, rubric, stratum, bad, sessions FROM cells WHERE suite = ? AND sessions > 0",
            self._suite,
        )
        rubrics: dict[str, set[str]] = {}
        for _, signal, rubric, *_ in rows:
            rubrics.setdefault(signal, set()).add(rubric)
        counts: dict[tuple[str, str, str], tuple[int, int]] = {}
        for day, signal, rubric, stratum, bad, sessions in rows:
            name = signal
            if signal.startswith("criterion:") and len(rubrics[signal]) > 1:
                name = f"criterion:{rubric}/{signal.removeprefix('criterion:')}"
            before = counts.get((day, name, stratum), (0, 0))
            counts[day, name, stratum] = (before[0] + bad, before[1] + sessions)
        return [Cell(*place, *counts[place]) for place in sorted(counts)]

    def cells(self, patterns: Iterable[str]) -> list[Cell]:
        """By day and stratum the signals that a pattern matches, of sessions that the base rate chose."""
        wanted = [*patterns]
        cells = [one for one in self._stored_cells if not one.stratum or one.stratum.partition("=")[0] in STRATA]
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
        """The share of sessions by the value of one of FACETS from day `since` to day `until`, both included, of those
        that the base rate chose.
        """
        signal = JUDGED if facet == "judge" else UNREADABLE_SESSION
        counts: dict[str, int] = {}
        for one in self._stored_cells:
            name, _, value = one.stratum.partition("=")
            if one.signal == signal and name == facet and since <= one.day <= until:
                counts[value] = counts.get(value, 0) + one.sessions
        total = sum(counts.values())
        return {value: count / total for value, count in sorted(counts.items())} if total else {}

    def judges(self, day: str) -> dict[str, list[str]]:
        """By rubric the `scorer` of each judge that scored sessions of the day."""
        query = "SELECT DISTINCT rubric, scorer FROM scores WHERE suite = ? AND latest AND kind = 'judge' AND day = ?"
        found: dict[str, list[str]] = {}
        for rubric, scorer in self._scores.ask(query, self._suite, day):
            found.setdefault(rubric, []).append(scorer)
        return found

    def scored(self, day: str) -> tuple[int, float]:
        """Sessions of the day that were scored by rules, and how many sessions they stand for."""
        of_readable = f"day = ? AND signal = '{UNREADABLE_SESSION}' AND value = 0"
        query = f"SELECT count(*), sum(weight) FROM {_OF_SUITE} AND {of_readable}"
        ((count, weight),) = self._scores.ask(query, self._suite, day)
        return int(count), float(weight or 0.0)

    def estimates(self, since: str, until: str, facets: Sequence[str] = ()) -> list[WeightedShare]:
        """Weighted shares by signal of the days `since` to `until`, both included: of all sessions, and by the values
        of each facet, of FACETS.

        Failure modes are over all sessions in which they were searched for. Metrics and durations are weighted means.
        """
        columns = ", ".join((self._signal, *facets))
        rows = self._scores.ask(
            f"SELECT sum(value * weight), sum(weight), count(*), sum(weight * weight), {columns} FROM {_OF_SUITE}"
            " AND day BETWEEN ? AND ? AND signal NOT GLOB 'shape:*' AND signal <> ?"
            f" GROUP BY {', '.join(map(str, range(5, 6 + len(facets))))}",
            self._suite,
            since,
            until,
            JUDGED,
        )
        found: list[WeightedShare] = []
        for place, facet in enumerate(("", *facets)):
            sums: dict[tuple[str, str], list[float]] = {}
            for row in rows:
                name = f"{facet}={row[4 + place]}" if facet else ""
                sums[row[4], name] = [
                    a + b for a, b in zip(sums.get((row[4], name), [0, 0, 0, 0]), row[:4], strict=True)
                ]
            found += [_weighted(sums, signal, name) for signal, name in sorted(sums)]
        return found

    @cached_property
    def _signal(self) -> str:
        """SQL of a signal's name: with the rubric, if several rubrics judge sessions of the suite by one criterion."""
        judged = "SELECT DISTINCT rubric FROM scores WHERE suite = ? AND latest AND kind = 'judge'"
        if len(self._scores.ask(judged, self._suite)) < 2:
            return "signal"
        query = (
            f"SELECT signal FROM {_OF_SUITE} AND kind = 'judge' AND signal GLOB 'criterion:*'"
            " GROUP BY signal HAVING count(DISTINCT rubric) > 1"
        )
        shared = [row[0].replace("'", "''") for row in self._scores.ask(query, self._suite)]
        listed = ", ".join(f"'{name}'" for name in shared)
        named = "'criterion:' || rubric || '/' || substr(signal, 11)"
        return f"CASE WHEN signal IN ({listed}) THEN {named} ELSE signal END"


def _weighted(sums: dict[tuple[str, str], list[float]], signal: str, group: str) -> WeightedShare:
    base = sums.get((ANY_MODE, group)) if signal.startswith("mode:") else None
    total, (_, weight, sessions, squared) = sums[signal, group][0], base or sums[signal, group]
    return WeightedShare(
        signal=signal,
        group=group,
        share=total / weight,
        sessions=int(sessions),
        effective=weight * weight / squared,
    )


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
