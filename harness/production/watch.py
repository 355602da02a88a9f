"""Shifts of production as incidents: what moved, since when, what else changed then, and the report of a day."""

import json
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from pydantic import ValidationError

from harness.disk import write_atomically
from harness.errors import ResultsError, UsageError
from harness.judging.certification import CriterionRates
from harness.production.charts import Shift, charts_of, most_at_once, shifts_of, threshold_of
from harness.production.days import FACETS, DayFacts, WeightedShare
from harness.production.settings import WatchSettings
from harness.runs.store.drift_report import DriftLink, DriftReport
from harness.scoring.statistics.correction import Corrected
from harness.scoring.statistics.intervals import Interval, wilson
from harness.suite.problems import first_words
from harness.values import Frozen, digest_of

INCIDENTS: Final = "incidents.json"


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
    """The day on which all of them were over, by the charts of all sessions if one of these alarmed; None: one goes
    on. A part of the sessions takes longer to show it.
    """
    accepted: bool = False
    """A person took the new rates for the reference of later days."""
    withdrawn: bool = False
    """The charts do not show it any more: the sessions of these days were scored again, or what is watched changed."""
    shifts: tuple[Shift, ...]
    changes: tuple[FacetChange, ...] = ()
    """What changed beside them, the largest first. It is near in time, which proves no cause."""
    drift: tuple[DriftLink, ...] = ()
    """What drift checks found about then."""

    @property
    def is_open(self) -> bool:
        return self.closed is None and not self.accepted and not self.withdrawn


class IncidentFile(Frozen):
    """The content of `watch/incidents.json`."""

    incidents: tuple[Incident, ...] = ()


def accept_incident(folder: Path, incident: str) -> Incident:
    """Takes the rates of an incident for the reference of what came after it. Raises UsageError for an unknown one."""
    path = folder / INCIDENTS
    stored = read_incidents(path)
    found = [one for one in stored if one.id.startswith(incident)]
    if len(found) != 1:
        known = ", ".join(one.id for one in stored) or "none"
        raise UsageError(f"there is no single incident {incident!r}", remedy=f"the incidents: {known}")
    done = found[0].model_copy(update={"accepted": True})
    write_incidents(path, [done if one.id == done.id else one for one in stored])
    return done


def read_incidents(path: Path) -> tuple[Incident, ...]:
    """The stored incidents; none if there is no file. Raises ResultsError for one that is damaged."""
    if not path.is_file():
        return ()
    try:
        return IncidentFile.model_validate_json(path.read_bytes()).incidents
    except ValueError as error:
        field, problem = first_words(error) if isinstance(error, ValidationError) else ("", str(error)[:200])
        at = f"field {field!r}: " if field else ""
        remedy = "move it out of the folder: incidents are found anew, accepted ones are open again"
        raise ResultsError(f"{path}: is not a list of incidents: {at}{problem}", remedy=remedy) from None


def write_incidents(path: Path, incidents: Sequence[Incident]) -> None:
    """Whole, or not at all."""
    document = IncidentFile(incidents=tuple(incidents)).model_dump(mode="json")
    write_atomically(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace"))


_BEFORE_DAYS: Final = 7
_MOVED: Final = 0.15
"""Of a value's share of the sessions, by which it counts as changed."""
_MOST_CHANGES: Final = 12


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


def drift_near(reports: Sequence[DriftReport], since: str, until: str) -> tuple[DriftLink, ...]:
    """Findings of drift checks from the week before `since` to `until`, each once, the most severe first.

    `reports`: the newest first.
    """
    begin = (date.fromisoformat(since) - timedelta(days=_BEFORE_DAYS)).isoformat()
    found: dict[str, DriftLink] = {}
    for report in reversed(reports):
        if begin <= report.day <= until:
            for one in report.findings:
                found.setdefault(one.fingerprint, report.link(one))
    ranked = sorted(found.values(), key=lambda one: (_SEVERITIES.index(one.severity), one.day, one.operation))
    return tuple(ranked[:_MOST_CHANGES])


_SEVERITIES: Final = ("breaking", "warning", "info")


# Incidents are computed again from all days at each look, so that a look that was left out changes nothing; what is
# stored (`watch/incidents.json`) keeps their names and what people decided. An incident that the charts show no more is
# withdrawn, and stays in the file, so that its issue is closed. Alarms that are open at the same time and began within
# a week of each other are one incident: one cause moves many signals.

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
    """Looks at all days, and stores the incidents. Raises ResultsError if the stored ones cannot be read.

    `drift`: reports of drift checks, of which those of the suite are shown beside incidents that began then.
    """
    path = folder / INCIDENTS
    stored = read_incidents(path)
    own = [one for one in stored if one.suite == suite]
    accepted = [shift for one in own if one.accepted for shift in one.shifts]
    charts = charts_of(facts.cells(settings.signals), settings)
    shifts = shifts_of(charts, settings, accepted)
    known = _Known(suite, facts, own, [one for one in drift if one.suite == suite])
    incidents = [_incident_for(group, known) for group in grouped_shifts(shifts)]
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


def _incident_for(group: Sequence[Shift], known: _Known) -> Incident:
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
    corrected: Corrected | None = None
    """Of a judged criterion: `share` corrected for the judge's errors, or why it is not."""


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
    judged: Mapping[str, CriterionRates | str] = MappingProxyType({}),
) -> DailyReport:
    """The report of `day` (YYYY-MM-DD, UTC). A facet that no session of the day names is left out.

    `judged`: the judges' rates by signal, as `day_rates` finds them.
    """
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
        rates=tuple(
            _rate(one, earlier.get((one.signal, one.group)), judged.get(one.signal))
            for one in now
            if not _is_mean(one.signal)
        ),
        means={one.signal: one.share for one in now if _is_mean(one.signal) and not one.group},
        open_incidents=tuple(open_ones),
    )


def _rate(now: WeightedShare, before: float | None, judge: CriterionRates | str | None) -> DayRate:
    share = min(1.0, max(0.0, now.share))
    return DayRate(
        signal=now.signal,
        group=now.group,
        share=now.share,
        interval=wilson(share, now.effective),
        sessions=now.sessions,
        before=before,
        corrected=_corrected(share, now.effective, judge),
    )


def _corrected(failed: float, effective: float, judge: CriterionRates | str | None) -> Corrected | None:
    """The signal counts failures, the rates are of passes."""
    if judge is None or isinstance(judge, str):
        return None if judge is None else Corrected(refused=judge)
    return judge.corrected(1 - failed, effective).complement


def _facet(one: WeightedShare) -> str:
    return one.group.partition("=")[0]


def _is_mean(signal: str) -> bool:
    return signal.startswith("metric:") or signal in ("duration_s", "steps")
