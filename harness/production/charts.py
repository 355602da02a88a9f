"""Control charts over days: each signal's rate against its first weeks, by a detector that may look every day.

See `harness.scoring.statistics.significance` for the method and what it guarantees. Only sessions that the base rate of
sampling chose are counted, since they were all as likely. For the answers of tools the signal is whether a structure
occurred that the first half of the reference did not have; the second half tells how often that happens by itself. A
release and a version of a prompt are compared with the sessions of the others before them.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from harness.production.days import Cell
from harness.production.settings import WatchSettings
from harness.scoring.statistics.significance import RateDetector, RateReference, is_over, reference_of
from harness.values import Frozen

_GONE_DAYS: Final = 7
_MOST_STRATA: Final = 40
"""Of one facet that are examined on one day: names are the sender's, who could make any number of them."""
_MOST_SIGNALS: Final = 400
"""Of one stratum."""


@dataclass(kw_only=True)
class Chart:
    """The days of one signal in one stratum. The first `reference_days` looks are its reference."""

    signal: str
    stratum: str
    days: list[str] = field(default_factory=list)
    looks: list[tuple[int, int]] = field(default_factory=list)

    def add(self, day: str, bad: int, sessions: int, least: int) -> None:
        """A day with too few sessions is joined with the next."""
        if self.looks and self.looks[-1][1] < least:
            bad, sessions = bad + self.looks[-1][0], sessions + self.looks[-1][1]
            self.days.pop()
            self.looks.pop()
        self.days.append(day)
        self.looks.append((bad, sessions))


def has_ended(chart: Chart, last_day: str) -> bool:
    """Whether it has had no session for a week in which others had some."""
    return (date.fromisoformat(last_day) - date.fromisoformat(chart.days[-1])).days >= _GONE_DAYS


def most_at_once(charts: Sequence[Chart], settings: WatchSettings) -> int:
    """The most charts that are examined on one day: each from the end of its reference to its last look."""
    changes: dict[str, int] = {}
    for chart in charts:
        changes[chart.days[settings.reference_days]] = changes.get(chart.days[settings.reference_days], 0) + 1
        after = f"{chart.days[-1]}~"  # later than its last day, and before the next one
        changes[after] = changes.get(after, 0) - 1
    most = now = 0
    for day in sorted(changes):
        now += changes[day]
        most = max(most, now)
    return most


def not_too_many(charts: Sequence[Chart], settings: WatchSettings) -> list[Chart]:
    """Without those beyond the bounds; those whose reference was complete first stay."""
    ordered = sorted(charts, key=lambda one: (one.days[settings.reference_days], one.signal, one.stratum))
    spans: dict[str, dict[str, tuple[str, str]]] = {}
    """By facet: stratum -> its first and last day."""
    for chart in ordered:
        own = spans.setdefault(chart.stratum.partition("=")[0], {})
        first, last = own.get(chart.stratum, (chart.days[settings.reference_days], chart.days[-1]))
        own[chart.stratum] = first, max(last, chart.days[-1])
    allowed = {stratum for one in spans.values() for stratum in _first_ones(one)}
    kept: list[Chart] = []
    count: dict[str, int] = {}
    for chart in ordered:
        count[chart.stratum] = count.get(chart.stratum, 0) + 1
        if chart.stratum in allowed and count[chart.stratum] <= _MOST_SIGNALS:
            kept.append(chart)
    return kept


def _first_ones(spans: dict[str, tuple[str, str]]) -> list[str]:
    """Strata of one facet of which no more than so many are examined at once; a later one takes the place of one that
    had ended when it began.
    """
    kept: list[str] = []
    for stratum, (first, _) in sorted(spans.items(), key=lambda one: (one[1][0], one[0])):
        if sum(spans[other][1] >= first for other in kept) < _MOST_STRATA:
            kept.append(stratum)
    return kept


# Charts of releases and of versions of a prompt: each is compared with the sessions of the others before its first day.
#
# Such a chart needs no days of its own as a reference. Its first looks are the last days of all other sessions before
# the release began, so that the same detector has the same bound; its later looks are the release's own sessions. A
# release that was there from the beginning has nothing before it, and no chart.

_FACETS: Final = ("release=", "prompt=")
_LEFT_OUT: Final = ("tool:", "shape:")
"""Tools change for all releases at once: the charts of all sessions show it."""


def is_succession(stratum: str) -> bool:
    """Whether a stratum is one of those that follow each other."""
    return stratum.startswith(_FACETS)


def succession_charts(cells: Sequence[Cell], settings: WatchSettings) -> list[Chart]:
    """A chart for each signal of each release and prompt version that began after a whole reference of others."""
    every: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    own: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.signal.startswith(_LEFT_OUT):
            continue
        if not cell.stratum:
            every[cell.signal][cell.day] = (cell.bad, cell.sessions)
        elif is_succession(cell.stratum) and not cell.stratum.endswith("="):
            own[cell.signal, cell.stratum].append(cell)
    began: dict[str, str] = {}
    for (_, stratum), found in own.items():
        first = min(cell.day for cell in found)
        began[stratum] = min(first, began.get(stratum, first))
    made = (
        _chart(signal, stratum, list(_days_before(every[signal], began[stratum])), found, settings)
        for (signal, stratum), found in sorted(own.items())
    )
    return [chart for chart in made if chart is not None]


def _days_before(every: dict[str, tuple[int, int]], began: str) -> Iterator[tuple[str, int, int]]:
    for day in sorted(every):
        if day < began:
            yield day, *every[day]


def _chart(
    signal: str, stratum: str, before: Sequence[tuple[str, int, int]], own: Sequence[Cell], settings: WatchSettings
) -> Chart | None:
    """None if the others had too few days before, or there is nothing to examine."""
    reference, chart = Chart(signal=signal, stratum=stratum), Chart(signal=signal, stratum=stratum)
    for day, bad, sessions in before:
        reference.add(day, bad, sessions, settings.least_sessions)
    for cell in sorted(own):
        chart.add(cell.day, cell.bad, cell.sessions, settings.least_sessions)
    if chart.looks[-1][1] < settings.least_sessions:  # more sessions of its last day may come
        chart.days.pop()
        chart.looks.pop()
    if len(reference.looks) < settings.reference_days or not chart.looks:
        return None
    chart.days = reference.days[-settings.reference_days :] + chart.days
    chart.looks = reference.looks[-settings.reference_days :] + chart.looks
    return chart


_Z: Final = 2.0
_CALM_LOOKS: Final = 1
_DAYS_A_YEAR: Final = 365.0


class Shift(Frozen):
    """One alarm of one chart. Days are in UTC."""

    signal: str
    stratum: str
    direction: str
    """`up`: the rate of what is bad rose; `down`: it fell."""
    alarmed: str
    """The day of the alarm."""
    since: str
    """The day on which the shift most likely began."""
    before: float
    """The reference's rate."""
    after: float
    """The rate from `since` to the alarm."""
    evidence: float
    threshold: float
    """The detector's value at the alarm, and what it was to reach."""
    over: str | None = None
    """The day on which the rate was shown to be back; None: it is not."""


def charts_of(cells: Sequence[Cell], settings: WatchSettings) -> list[Chart]:
    """A chart for each signal and stratum that has a whole reference and days after it."""
    own = [cell for cell in cells if not is_succession(cell.stratum)]
    every = _with_new_shapes(own, settings)
    made: dict[tuple[str, str], Chart] = {}
    for cell in sorted(every):
        chart = made.setdefault((cell.signal, cell.stratum), Chart(signal=cell.signal, stratum=cell.stratum))
        chart.add(cell.day, cell.bad, cell.sessions, settings.least_sessions)
    charts = [chart for chart in made.values() if len(chart.looks) > settings.reference_days]
    return not_too_many([*charts, *succession_charts(cells, settings)], settings)


def shifts_of(charts: Sequence[Chart], settings: WatchSettings, accepted: Sequence[Shift] = ()) -> list[Shift]:
    """Every alarm of the charts, oldest first. `accepted` shifts became the reference of what came after them."""
    found: list[Shift] = []
    threshold = threshold_of(most_at_once(charts, settings), settings)
    last_day = max((chart.days[-1] for chart in charts), default="")
    for chart in charts:
        alarms: list[Shift] = []
        own = [one for one in accepted if (one.signal, one.stratum) == (chart.signal, chart.stratum)]
        start: int | None = 0
        while start is not None:
            start = _watch(chart, start, settings, threshold, own, alarms)
        found += [_ended_shift(one, chart) for one in alarms] if has_ended(chart, last_day) else alarms
    return sorted(found, key=lambda one: (one.alarmed, one.since, one.signal, one.stratum))


def _ended_shift(shift: Shift, chart: Chart) -> Shift:
    """If a chart has no sessions any more, its shift is over on its last day."""
    return shift if shift.over is not None else shift.model_copy(update={"over": chart.days[-1]})


def threshold_of(charts: int, settings: WatchSettings) -> float:
    """The least expected number of days until a false alarm of one chart, so that all together keep their bound.

    `charts`: the most that are examined on one day.
    """
    return _DAYS_A_YEAR * max(1, charts) / settings.false_alarms_per_year


def _watch(
    chart: Chart,
    start: int,
    settings: WatchSettings,
    threshold: float,
    accepted: Sequence[Shift],
    found: list[Shift],
) -> int | None:
    """Watches from the reference that begins at `start`; where a new reference begins, or None at the end."""
    first = start + settings.reference_days
    reference = reference_of(chart.looks[start:first], margin=settings.margin, z=_Z)
    if reference is None:
        return None
    detector = RateDetector(reference, threshold)
    place = offset = first
    while place < len(chart.looks):
        alarm = detector.look(*chart.looks[place])
        if alarm is None:
            place += 1
            continue
        since = offset + alarm.since
        over = _end_of_shift(chart, place, reference, alarm.rate)
        shift = Shift(
            signal=chart.signal,
            stratum=chart.stratum,
            direction=alarm.direction,
            alarmed=chart.days[place],
            since=chart.days[since],
            before=reference.rate,
            after=alarm.rate,
            evidence=alarm.evidence,
            threshold=alarm.threshold,
            over=None if over is None else chart.days[over],
        )
        found.append(shift)
        if any(one.since <= shift.alarmed and shift.since <= one.alarmed for one in accepted):
            return since
        if over is None:
            return None
        detector, place = RateDetector(reference, threshold), over + 1
        offset = place
    return None


def _end_of_shift(chart: Chart, alarmed: int, reference: RateReference, rate: float) -> int | None:
    later = chart.looks[alarmed + 1 :]
    for count in range(_CALM_LOOKS, len(later) + 1):
        if is_over(later[:count], reference, rate):
            return alarmed + count
    return None


def _with_new_shapes(cells: Sequence[Cell], settings: WatchSettings) -> list[Cell]:
    """Cells of shapes become one signal a tool, `shape:<tool>`: how often a structure occurred that was not known."""
    shapes = [cell for cell in cells if cell.signal.startswith("shape:")]
    others = [cell for cell in cells if not cell.signal.startswith("shape:")]
    by_tool: dict[tuple[str, str], list[Cell]] = {}
    for cell in shapes:
        by_tool.setdefault((cell.signal.removeprefix("shape:").rpartition("|")[0], cell.stratum), []).append(cell)
    for (tool, stratum), own in by_tool.items():
        days = sorted({cell.day for cell in own})
        half = days[: max(1, settings.reference_days // 2)]
        known = {cell.signal for cell in own if cell.day in half}
        for day in days[len(half) :]:
            today = [cell for cell in own if cell.day == day]
            fresh = min(
                sum(cell.bad for cell in today if cell.signal not in known), max(cell.sessions for cell in today)
            )
            others.append(Cell(day, f"shape:{tool}", stratum, fresh, max(cell.sessions for cell in today)))
    return others
