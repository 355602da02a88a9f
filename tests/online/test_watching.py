"""Shifts are noticed within days, beside what changed then; where nothing shifts, hardly ever an alarm is raised."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from harness.issues import FolderTracker, TrackerOptions, file_incidents
from harness.online import (
    DayFacts,
    Sampling,
    SessionScore,
    WatchSettings,
    accept_incident,
    daily_report,
    watch_shifts,
)
from harness.online.score_store import ScoreStore
from tests.online.shifts import FIRST, World, delay, drift, false_alarms, other_judge, rise, simulated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "signal", "facet", "most_days"),
    [
        (rise, "check:order", ("release", "1.1"), 14),
        (drift, "shape:look", None, 2),
        (other_judge, "criterion:helpful", ("judge", "judge-2"), 7),
    ],
)
def test_a_planted_shift_becomes_one_incident_with_what_changed_then(
    tmp_path: Path, change: Callable[[World], None], signal: str, facet: tuple[str, str] | None, most_days: int
) -> None:
    """60 days of 200 sessions; a check's rate rises from 4 to 8 %, a tool's answers change, another judge judges."""
    facts = simulated(tmp_path / "scores", (30, change))
    look = watch_shifts(facts, "shop", tmp_path, WatchSettings())

    (incident,) = look.incidents
    assert 0 <= delay(incident) <= most_days
    assert signal in {shift.signal for shift in incident.shifts}
    assert incident.is_open
    assert abs((date.fromisoformat(incident.since) - FIRST).days - 30) <= 7
    changed = {(one.facet, one.value) for one in incident.changes if one.after > one.before}
    assert {facet} - {None} <= changed


def test_false_alarms_stay_below_the_declared_number_a_year() -> None:
    """40 charts over a year, of rates that do not move; half of them differ from day to day by more than chance."""
    assert false_alarms(40) <= 2


def soar(world: World) -> None:
    world.rates["order"], world.release = 0.4, "1.1"


def mend(world: World) -> None:
    world.rates["order"] = 0.04


def test_an_incident_is_one_issue_that_is_closed_when_it_is_over(tmp_path: Path) -> None:
    tracker = FolderTracker(TrackerOptions(project=tmp_path))
    facts = simulated(tmp_path / "a", (20, soar), days=26, daily=40)
    (incident,) = watch_shifts(facts, "shop", tmp_path, WatchSettings()).incidents
    assert incident.is_open
    assert {("release", "1.1")} <= {(one.facet, one.value) for one in incident.changes}
    assert ["file"] == [one.verb for one in file_incidents([incident], tracker)]
    assert ["leave"] == [one.verb for one in file_incidents([incident], tracker)]
    (issue,) = tracker.find()
    assert "check:order" in issue.title + issue.body
    assert "release `1.1`" in issue.body
    assert "`no success`" in issue.body  # what rose is the share of sessions without success

    later = simulated(tmp_path / "b", (20, soar), (28, mend), days=44, daily=40)
    closed = watch_shifts(later, "shop", tmp_path, WatchSettings()).incidents
    assert [(incident.id, False)] == [(one.id, one.is_open) for one in closed]
    assert ["close"] == [one.verb for one in file_incidents(closed, tracker)]
    assert [False] == [one.is_open for one in tracker.find()]
    assert ["leave"] == [one.verb for one in file_incidents(closed, tracker)]

    accept_incident(tmp_path, incident.id[:6])
    (accepted,) = watch_shifts(facts, "shop", tmp_path, WatchSettings()).incidents
    assert (incident.id, True, False) == (accepted.id, accepted.accepted, accepted.is_open)


def test_where_nothing_shifts_there_is_no_incident(tmp_path: Path) -> None:
    facts = simulated(tmp_path / "scores", days=40, daily=40)
    look = watch_shifts(facts, "shop", tmp_path, WatchSettings())
    assert () == look.incidents
    assert look.charts > 10


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def test_the_daily_report_estimates_shares_for_the_whole_population(tmp_path: Path) -> None:
    """Half of the sessions fail and are all scored; of the others one in ten is: weights undo that."""
    world, scores = World(1), list[SessionScore]()
    world.rates = {"order": 0.5}
    for one in world.scores(FIRST, 1500):
        failed = one.card is not None and one.card.success is False
        rate = 1.0 if failed else 0.1
        if world.chance(rate) and one.kind == "rules":
            scores.append(one.model_copy(update={"sampling": Sampling(rule="x", rate=rate, in_base=world.chance(0.1))}))
    store = ScoreStore(_made(tmp_path / "scores"))
    store.add(scores)
    report = daily_report(DayFacts(store.facts(), "shop"), "shop", tmp_path, FIRST.isoformat())

    (rate,) = [one for one in report.rates if one.signal == "success" and not one.group]
    assert rate.interval is not None
    assert rate.interval.low <= 0.5 <= rate.interval.high
    assert abs(rate.share - 0.5) < 0.1
    assert 1200 < report.population < 1800
    assert {"release", "model", "category", ""} == {one.group.partition("=")[0] for one in report.rates}
    assert {"release=1.0", "model=m", "category=refund"} <= {one.group for one in report.rates}
