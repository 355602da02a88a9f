"""What else changed when a shift began: shares of releases and others, structures of tools' answers, found drift."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, date, timedelta
from typing import Final

from harness.online.trends.days import FACETS, DayFacts
from harness.online.trends.incidents import DriftNear, FacetChange
from harness.results import DriftReport

ANSWERS: Final = "answers"
_SHAPE: Final = "shape:"
_BEFORE_DAYS: Final = 7
_MOVED: Final = 0.15
"""Of a value's share of the sessions, by which it counts as changed."""
_MOST_CHANGES: Final = 12


def change_words(change: FacetChange) -> str:
    """What has changed, with its value quoted."""
    if change.facet == ANSWERS:
        return f"unknown structures in answers of {change.value!r}"
    return f"{change.facet} {change.value!r}"


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
    found += _new_answers(facts, since, until)
    found.sort(key=lambda one: -abs(one.after - one.before))
    return tuple(found[:_MOST_CHANGES])


def drift_near(reports: Sequence[DriftReport], since: str, until: str) -> tuple[DriftNear, ...]:
    """Findings of drift checks from the week before `since` to `until`, each once, the most severe first.

    `reports`: the newest first.
    """
    begin = (date.fromisoformat(since) - timedelta(days=_BEFORE_DAYS)).isoformat()
    found: dict[str, DriftNear] = {}
    for report in reversed(reports):
        day = report.seen.astimezone(UTC).strftime("%Y-%m-%d")
        for one in report.findings if begin <= day <= until else ():
            near = DriftNear(
                run=report.run,
                day=day,
                tool=one.tool,
                operation=one.operation,
                change=one.change,
                severity=one.severity,
            )
            found.setdefault(one.fingerprint, near)
    ranked = sorted(found.values(), key=lambda one: (_SEVERITIES.index(one.severity), one.day, one.operation))
    return tuple(ranked[:_MOST_CHANGES])


_SEVERITIES: Final = ("breaking", "warning", "info")


def _new_answers(facts: DayFacts, since: str, until: str) -> Iterator[FacetChange]:
    """Tools of which many sessions had an answer with a structure that no earlier day had."""
    known: dict[str, set[str]] = defaultdict(set)
    fresh: dict[str, int] = defaultdict(int)
    sessions: dict[tuple[str, str], int] = {}
    for cell in sorted(facts.cells([f"{_SHAPE}*"], strata=())):
        tool, _, shape = cell.signal.removeprefix(_SHAPE).rpartition("|")
        if cell.day < since:
            known[tool].add(shape)
        elif cell.day <= until:
            fresh[tool] += cell.bad if shape not in known[tool] else 0
            sessions[tool, cell.day] = cell.sessions
    for tool in sorted(known):
        every = sum(count for (name, _), count in sessions.items() if name == tool)
        if every and fresh[tool] / every >= _MOVED:
            yield FacetChange(facet=ANSWERS, value=tool, before=0.0, after=min(1.0, fresh[tool] / every))
