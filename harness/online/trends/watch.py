"""Shifts of production as incidents: what moved, since when, and what else changed then.

Incidents are worked out anew from all days at each look, so that a look that was left out changes nothing; what is
stored (`watch/incidents.json`) keeps their names and what people decided. An incident that the charts show no more is
withdrawn, and stays in the file, so that its issue is closed. Alarms that are open at the same time and began within a
week of each other are one incident: one cause moves many signals.
"""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

from harness.online.settings import WatchSettings
from harness.online.trends.changes import changes_near, drift_near
from harness.online.trends.chart import most_at_once
from harness.online.trends.charts import Shift, charts_of, shifts_of, threshold_of
from harness.online.trends.days import DayFacts
from harness.online.trends.incidents import INCIDENTS, Incident, read_incidents, write_incidents
from harness.results import DriftReport
from harness.values import Frozen, digest_of

_TOGETHER_DAYS: Final = 7


class ChartCheck(Frozen):
    """One look at the charts of a suite."""

    suite: str
    days: int
    """Days with scores."""
    charts: int
    """Charts with a whole reference and days after it."""
    threshold: float
    """The least expected number of days until a false alarm of one chart."""
    incidents: tuple[Incident, ...]


class _Known(NamedTuple):
    """What a look is made with."""

    suite: str
    facts: DayFacts
    stored: Sequence[Incident]
    drift: Sequence[DriftReport]


def watch_shifts(
    facts: DayFacts, suite: str, folder: Path, settings: WatchSettings, drift: Sequence[DriftReport] = ()
) -> ChartCheck:
    """Looks at all days, and stores the incidents. Raises ResultsError where the stored ones cannot be read.

    `drift`: reports of drift checks, of which those of the suite are shown beside incidents that began then.
    """
    path = folder / INCIDENTS
    stored = read_incidents(path)
    own = [one for one in stored if one.suite == suite]
    accepted = [shift for one in own if one.accepted for shift in one.shifts]
    charts = charts_of(facts.cells(settings.signals), settings)
    shifts = shifts_of(charts, settings, accepted)
    known = _Known(suite, facts, own, [one for one in drift if one.suite == suite])
    incidents = [_named(group, known) for group in grouped_shifts(shifts)]
    named = {one.id for one in incidents}
    incidents += [one.model_copy(update={"withdrawn": True}) for one in own if one.id not in named]
    incidents.sort(key=lambda one: (one.opened, one.since, one.id))
    write_incidents(path, [*(one for one in stored if one.suite != suite), *incidents])
    return ChartCheck(
        suite=suite,
        days=len(facts.counted_days()),
        charts=len(charts),
        threshold=threshold_of(most_at_once(charts, settings), settings),
        incidents=tuple(incidents),
    )


def grouped_shifts(shifts: Sequence[Shift]) -> list[list[Shift]]:
    """Alarms that are open at the same time and began near each other."""
    groups: list[list[Shift]] = []
    for shift in sorted(shifts, key=lambda one: (one.alarmed, one.since)):
        near = [group for group in groups if _belongs(shift, group)]
        if near:
            near[0].append(shift)
        else:
            groups.append([shift])
    return groups


def _belongs(shift: Shift, group: Sequence[Shift]) -> bool:
    """Whether the group is open when the shift alarms, and began near it."""
    is_open = any(one.over is None or one.over >= shift.since for one in group)
    began = min(one.since for one in group)
    apart = abs((date.fromisoformat(shift.since) - date.fromisoformat(began)).days)
    return is_open and (apart <= _TOGETHER_DAYS or shift.since <= max(one.alarmed for one in group))


def _named(group: Sequence[Shift], known: _Known) -> Incident:
    since, opened = min(one.since for one in group), min(one.alarmed for one in group)
    over = [one.over for one in group if not one.stratum] or [one.over for one in group]
    closed = None if None in over else max(day for day in over if day is not None)
    before = next((one for one in known.stored if _is_same(one, group)), None)
    first = group[0]
    fresh = digest_of([known.suite, first.signal, first.stratum, first.alarmed])[:12]
    return Incident(
        id=fresh if before is None else before.id,
        suite=known.suite,
        opened=opened,
        since=since,
        closed=closed,
        accepted=before is not None and before.accepted,
        shifts=tuple(group),
        changes=changes_near(known.facts, since, opened),
        drift=drift_near(known.drift, since, opened),
    )


def _is_same(incident: Incident, group: Sequence[Shift]) -> bool:
    """Whether they have an alarm in common, by its chart and about its day: late scores move it a little."""
    for one in incident.shifts:
        for other in group:
            days = abs((date.fromisoformat(one.alarmed) - date.fromisoformat(other.alarmed)).days)
            if (one.signal, one.stratum) == (other.signal, other.stratum) and days <= _TOGETHER_DAYS:
                return True
    return False
