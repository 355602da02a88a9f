"""Charts of releases and of versions of a prompt: each is held against the sessions of the others before its first day.

Such a chart needs no days of its own as a reference. Its first looks are the last days of all other sessions before
the release began, so that the same detector has the same bound; its later looks are the release's own sessions. A
release that was there from the beginning has nothing before it, and no chart.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from harness.online.settings import WatchSettings
from harness.online.trends.cells import Cell
from harness.online.trends.chart import Chart

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
    """None where the others had too few days before, or there is nothing to examine."""
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
