"""Shifts of production as incidents: what moved, since when, and what else changed then.

Incidents are worked out anew from all days at each look, so that a look that was left out changes nothing; what is
stored (`watch/incidents.json`) only keeps their names and what people decided. Alarms that are open at the same time
and began within a week of each other are one incident: one cause moves many signals.
"""

import json
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.documents import write_atomically
from harness.errors import ResultsError, UsageError
from harness.online.settings import WatchSettings
from harness.online.trends.charts import Shift, charts_of, shifts_of, threshold_of
from harness.online.trends.days import FACETS, DayFacts
from harness.values import Frozen, digest_of

_TOGETHER_DAYS: Final = 7
_BEFORE_DAYS: Final = 7
_MOVED: Final = 0.15
"""Of a value's share of the sessions, by which it counts as changed."""
_MOST_CHANGES: Final = 12


class FacetChange(Frozen):
    """Something else that changed when a shift began: the share of sessions with a release, model, prompt, ..."""

    facet: str
    """`release`, `model`, `prompt`, `judge`, `scorer`, `category`."""
    value: str
    before: float
    """Share in the week before."""
    after: float
    """Share from the beginning of the shift to its alarm."""


class Incident(Frozen):
    """Shifts with one beginning."""

    id: str
    """Twelve hexadecimal digits; stays when the incident grows."""
    suite: str
    opened: str
    """The day of the first alarm."""
    since: str
    """The day on which the first of its shifts most likely began."""
    closed: str | None = None
    """The day on which all of them were over, by the charts of all sessions where one of these alarmed; None: one goes
    on. A part of the sessions takes longer to show it.
    """
    accepted: bool = False
    """A person took the new rates for the reference of later days."""
    shifts: tuple[Shift, ...]
    changes: tuple[FacetChange, ...] = ()
    """What changed beside them, the largest first. It is near in time, which proves no cause."""

    @property
    def is_open(self) -> bool:
        return self.closed is None and not self.accepted


class Look(Frozen):
    """One look at the charts of a suite."""

    suite: str
    days: int
    """Days with scores."""
    charts: int
    """Charts with a whole reference and days after it."""
    threshold: float
    """The least expected number of days until a false alarm of one chart."""
    incidents: tuple[Incident, ...]


class IncidentFile(Frozen):
    """The content of `watch/incidents.json`."""

    incidents: tuple[Incident, ...] = ()


def watch_shifts(facts: DayFacts, suite: str, folder: Path, settings: WatchSettings) -> Look:
    """Looks at all days, and stores the incidents. Raises ResultsError where the stored ones cannot be read."""
    path = folder / "incidents.json"
    stored = read_incidents(path)
    own = [one for one in stored if one.suite == suite]
    accepted = [shift for one in own if one.accepted for shift in one.shifts]
    charts = charts_of(facts.cells(settings.signals), settings)
    shifts = shifts_of(charts, settings, accepted)
    incidents = [_named(group, suite, own, facts) for group in _groups(shifts)]
    others = [one for one in stored if one.suite != suite]
    _write(path, [*others, *incidents])
    return Look(
        suite=suite,
        days=len(facts.days()),
        charts=len(charts),
        threshold=threshold_of(len(charts), settings),
        incidents=tuple(incidents),
    )


def accept_incident(folder: Path, incident: str) -> Incident:
    """Takes the rates of an incident for the reference of what came after it. Raises UsageError for an unknown one."""
    path = folder / "incidents.json"
    stored = read_incidents(path)
    found = [one for one in stored if one.id.startswith(incident)]
    if len(found) != 1:
        known = ", ".join(one.id for one in stored) or "none"
        raise UsageError(f"there is no single incident {incident!r}", remedy=f"the incidents: {known}")
    done = found[0].model_copy(update={"accepted": True})
    _write(path, [done if one.id == done.id else one for one in stored])
    return done


def read_incidents(path: Path) -> tuple[Incident, ...]:
    """The stored incidents; none where there is no file."""
    if not path.is_file():
        return ()
    try:
        return IncidentFile.model_validate_json(path.read_bytes()).incidents
    except (ValidationError, ValueError) as error:
        raise ResultsError(f"{path}: is no list of incidents: {str(error)[:200]}") from None


def _write(path: Path, incidents: Sequence[Incident]) -> None:
    document = IncidentFile(incidents=tuple(incidents)).model_dump(mode="json")
    write_atomically(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace"))


def _groups(shifts: Sequence[Shift]) -> list[list[Shift]]:
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


def _named(group: Sequence[Shift], suite: str, stored: Sequence[Incident], facts: DayFacts) -> Incident:
    since, opened = min(one.since for one in group), min(one.alarmed for one in group)
    over = [one.over for one in group if not one.stratum] or [one.over for one in group]
    closed = None if None in over else max(day for day in over if day is not None)
    before = next((one for one in stored if _is_same(one, group)), None)
    first = group[0]
    fresh = digest_of([suite, first.signal, first.stratum, first.alarmed])[:12]
    return Incident(
        id=fresh if before is None else before.id,
        suite=suite,
        opened=opened,
        since=since,
        closed=closed,
        accepted=before is not None and before.accepted,
        shifts=tuple(group),
        changes=changes_near(facts, since, opened),
    )


def _is_same(incident: Incident, group: Sequence[Shift]) -> bool:
    """Whether they have an alarm in common, by its chart and about its day: late scores move it a little."""
    for one in incident.shifts:
        for other in group:
            days = abs((date.fromisoformat(one.alarmed) - date.fromisoformat(other.alarmed)).days)
            if (one.signal, one.stratum) == (other.signal, other.stratum) and days <= _TOGETHER_DAYS:
                return True
    return False


def changes_near(facts: DayFacts, since: str, until: str) -> tuple[FacetChange, ...]:
    """Values whose share of the sessions moved between the week before `since` and the days from it to `until`."""
    began = date.fromisoformat(since)
    week = (began - timedelta(days=_BEFORE_DAYS)).isoformat(), (began - timedelta(days=1)).isoformat()
    found: list[FacetChange] = []
    for facet in FACETS:
        before, after = facts.shares(facet, *week), facts.shares(facet, since, until)
        if not before or not after:
            continue
        for value in sorted({*before, *after}):
            change = FacetChange(facet=facet, value=value, before=before.get(value, 0.0), after=after.get(value, 0.0))
            if abs(change.after - change.before) >= _MOVED:
                found.append(change)
    found.sort(key=lambda one: -abs(one.after - one.before))
    return tuple(found[:_MOST_CHANGES])
