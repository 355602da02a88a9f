"""The report of one day of production, beside the week before it."""

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

from harness.online.trends.days import DayFacts, WeightedShare
from harness.online.trends.incidents import INCIDENTS, Incident, read_incidents
from harness.stats import Interval, wilson
from harness.values import Frozen

_WEEK: int = 7


class DayRate(Frozen):
    """The share of sessions in which something went wrong, estimated for the whole population."""

    signal: str
    group: str
    """"" for all sessions, else for example `release=2.4`."""
    share: float
    interval: Interval | None
    """95 %, by the effective number of sessions."""
    sessions: int
    """Scored sessions."""
    before: float | None
    """The share in the seven days before; None: no session of then has it."""


class DailyReport(Frozen):
    """One day of one suite."""

    suite: str
    day: str
    scored: int
    """Scored sessions that were received on the day."""
    population: float
    """How many sessions they stand for, by their weights."""
    rates: tuple[DayRate, ...]
    means: dict[str, float] = {}
    """Weighted means of metrics, and of `duration_s` and `steps`."""
    open_incidents: tuple[Incident, ...] = ()


def daily_report(
    facts: DayFacts,
    suite: str,
    watch_folder: Path,
    day: str,
    facets: Sequence[str] = ("release", "model", "prompt", "category"),
) -> DailyReport:
    """The report of `day` (YYYY-MM-DD, UTC). A facet that no session of the day names is left out."""
    at = date.fromisoformat(day)
    week = (at - timedelta(days=_WEEK)).isoformat(), (at - timedelta(days=1)).isoformat()
    found = facts.estimates(day, day, facets)
    named = {_facet(one) for one in found if one.group != f"{_facet(one)}="}
    now = [one for one in found if _facet(one) in named]
    earlier = {(one.signal, one.group): one.share for one in facts.estimates(*week, facets)}
    scored, population = facts.scored(day)
    open_ones = [one for one in read_incidents(watch_folder / INCIDENTS) if one.suite == suite and one.is_open]
    return DailyReport(
        suite=suite,
        day=day,
        scored=scored,
        population=population,
        rates=tuple(_rate(one, earlier.get((one.signal, one.group))) for one in now if not _is_mean(one.signal)),
        means={one.signal: one.share for one in now if _is_mean(one.signal) and not one.group},
        open_incidents=tuple(open_ones),
    )


def _rate(now: WeightedShare, before: float | None) -> DayRate:
    share = min(1.0, max(0.0, now.share))
    return DayRate(
        signal=now.signal,
        group=now.group,
        share=now.share,
        interval=wilson(share, now.effective),
        sessions=now.sessions,
        before=before,
    )


def _facet(one: WeightedShare) -> str:
    return one.group.partition("=")[0]


def _is_mean(signal: str) -> bool:
    return signal.startswith("metric:") or signal in ("duration_s", "steps")
