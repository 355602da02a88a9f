"""Control charts over days: each signal's rate against its first weeks, by a detector that may look every day.

See `harness.stats.change_detection` for the method and what it guarantees. Only sessions that the base rate of sampling
chose are counted, since they were all as likely. For the answers of tools the signal is whether a structure occurred
that the first half of the reference did not have; the second half tells how often that happens by itself.

A release and a version of a prompt are held against the sessions of the others before them
(`harness.online.trends.succession`).
"""

from collections.abc import Sequence
from typing import Final

from harness.online.settings import WatchSettings
from harness.online.trends.cells import Cell
from harness.online.trends.chart import Chart, has_ended, most_at_once, not_too_many
from harness.online.trends.succession import is_succession, succession_charts
from harness.stats import RateDetector, RateReference, is_over, reference_of
from harness.values import Frozen

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
        found += [_ended(one, chart) for one in alarms] if has_ended(chart, last_day) else alarms
    return sorted(found, key=lambda one: (one.alarmed, one.since, one.signal, one.stratum))


def _ended(shift: Shift, chart: Chart) -> Shift:
    """Where a chart has no sessions any more, its shift is over on its last day."""
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
        over = _over(chart, place, reference, alarm.rate)
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


def _over(chart: Chart, alarmed: int, reference: RateReference, rate: float) -> int | None:
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
