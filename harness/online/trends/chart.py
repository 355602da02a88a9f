"""One control chart: a signal of one stratum from day to day; and which charts are examined at the same time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from harness.online.settings import WatchSettings

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
