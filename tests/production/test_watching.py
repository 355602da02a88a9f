"""Shifts are noticed within days, beside what changed then; where nothing shifts, hardly ever an alarm is raised."""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.drift.issue import TrackerOptions
from harness.drift.trackers import FolderTracker
from harness.production.charts import charts_of, most_at_once
from harness.production.days import Cell, DayFacts
from harness.production.issues import file_incidents, incident_draft
from harness.production.scores import SessionSampling, SessionScore
from harness.production.settings import WatchSettings
from harness.production.store import forget_older
from harness.production.watch import Incident, accept_incident, daily_report, watch_shifts
from harness.runs.store.drift_report import DriftFinding, DriftReport
from qa.production.shifts import FIRST, World, delay, drift, false_alarms, new_store, other_judge, rise, simulated


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


@pytest.mark.slow
def test_an_incident_outlives_the_scores_that_retention_removes(tmp_path: Path) -> None:
    """15 days are kept; the rate soars on day 20 and is mended on day 48. Nothing is counted twice, nothing is lost."""
    store, settings, world = new_store(tmp_path), WatchSettings(), World(5)
    layout, scores = store.layout, store.score_store
    tracker = FolderTracker(TrackerOptions(project=tmp_path))
    found: dict[int, tuple[Incident, ...]] = {}
    waiting: list[SessionScore] = []
    for number in range(60):
        soar(world) if number == 20 else mend(world) if number == 48 else None
        day = FIRST + timedelta(days=number)
        waiting += world.scores(day, 30)
        if number % 12 == 11 or number in (24, 34):
            limit = datetime(day.year, day.month, day.day, 6, tzinfo=UTC) - timedelta(days=14)
            scores.add(waiting)
            waiting = []
            forget_older(layout, (time.time() - limit.timestamp()) / 86_400)
        if number in (24, 34, 47, 59):
            facts = DayFacts(scores, "shop")
            assert (number + 1, 30) == (
                len(facts.counted_days()),
                max(one.sessions for one in facts.cells(["success"])),
            )
            found[number] = watch_shifts(facts, "shop", layout.watch, settings).incidents
            file_incidents(found[number], tracker)
    assert len({score.day for score in scores.read()}) < 22
    (first,) = found[24]
    assert [(first.id, True), (first.id, True), (first.id, False)] == [
        (one.id, one.is_open) for number in (34, 47, 59) for one in found[number]
    ]
    assert {("release", "1.1")} <= {(one.facet, one.value) for one in found[47][0].changes}
    assert {(one.before, one.since) for one in first.shifts} <= {(one.before, one.since) for one in found[47][0].shifts}
    assert [False] == [issue.is_open for issue in tracker.find()]


def test_an_incident_that_the_charts_show_no_more_is_withdrawn_and_its_issue_closed(tmp_path: Path) -> None:
    tracker = FolderTracker(TrackerOptions(project=tmp_path))
    facts = simulated(tmp_path / "a", (20, soar), days=26, daily=40)
    (incident,) = watch_shifts(facts, "shop", tmp_path, WatchSettings()).incidents
    file_incidents([incident], tracker)
    mended = simulated(tmp_path / "b", days=26, daily=40)  # the same days, scored by a check that was wrong before
    (after,) = watch_shifts(mended, "shop", tmp_path, WatchSettings()).incidents
    assert (incident.id, True, False) == (after.id, after.withdrawn, after.is_open)
    assert ["close"] == [one.verb for one in file_incidents([after], tracker)]
    (again,) = watch_shifts(facts, "shop", tmp_path, WatchSettings()).incidents
    assert (incident.id, True) == (again.id, again.is_open)


@pytest.mark.parametrize(("change", "status"), [(other_judge, 0), (soar, 1)])
def test_a_shift_of_an_uncertified_judge_is_shown_and_decides_nothing(
    tmp_path: Path, change: Callable[[World], None], status: int
) -> None:
    """The exit status of a check's shift is the control."""
    rubric = tmp_path / "suites/shop/rubrics/r.yaml"
    rubric.parent.mkdir(parents=True)
    criterion = "{id: helpful, domain: d, statement: It helped., evidence: [conversation]}"
    rubric.write_text(f"name: r\ndescription: Help.\ndomains: {{d: 1}}\ncriteria: [{criterion}]\n")
    simulated(tmp_path / "store", (20, change), days=32, daily=100)
    (tmp_path / "online.yaml").write_text("store: store\n")
    done = CliRunner().invoke(harness, ["--project", str(tmp_path), "online", "watch", "shop"])
    assert status == done.exit_code, done.output
    assert "1 open incidents" in done.output
    assert (status == 0) == ("decides nothing" in done.output)


def canary(world: World) -> None:
    world.canary = ("2.0-rc", 0.1, 0.4)


@pytest.mark.slow
def test_a_release_of_few_sessions_has_a_chart_of_its_own_that_ends_with_it(tmp_path: Path) -> None:
    """One session in ten is of a release that fails in 40 % of them; the rate of all moves by less than 4 %."""
    facts = simulated(tmp_path / "a", (20, canary), days=28, daily=100)
    (incident,) = watch_shifts(facts, "shop", tmp_path, WatchSettings()).incidents
    assert {"release=2.0-rc"} == {shift.stratum for shift in incident.shifts}
    assert 0 <= (date.fromisoformat(incident.opened) - FIRST).days - 20 <= 5
    assert incident.is_open
    ended = simulated(tmp_path / "b", (20, canary), (28, rolled_back), days=40, daily=100)
    (over,) = watch_shifts(ended, "shop", tmp_path, WatchSettings()).incidents
    assert (incident.id, (FIRST + timedelta(days=27)).isoformat()) == (over.id, over.closed)


def rolled_back(world: World) -> None:
    world.canary = None


def test_what_a_drift_check_found_stands_beside_an_incident(tmp_path: Path) -> None:
    change = DriftFinding(tool="look", operation="look", change="schema.removed", severity="breaking", path="price",
                          old_kind="number", new_kind="absent")  # fmt: skip
    reports = [
        DriftReport(suite=suite, run=f"probe-{day}", seen=datetime(2026, 1, day, tzinfo=UTC), command="harness drift",
                    findings=(change,), exercised={})
        for suite, day in (("shop", 20), ("shop", 1), ("other", 21))
    ]  # fmt: skip
    facts = simulated(tmp_path / "a", (20, soar), days=26, daily=40)
    incidents = watch_shifts(facts, "shop", tmp_path, WatchSettings(signals=("success", "check:*")), reports).incidents
    (incident,) = incidents
    assert [("probe-20", "look")] == [(one.run, one.tool) for one in incident.drift]
    body = incident_draft(incident).body
    assert "drift of `look` (breaking, 2026-01-20): `schema.removed` in `probe-20`" in body


def test_names_that_a_sender_invents_make_no_number_of_charts() -> None:
    def cells(strata: list[str]) -> list[Cell]:
        days = [(FIRST + timedelta(days=number)).isoformat() for number in range(20)]
        return [Cell(day, "success", stratum, 0, 50) for day in days for stratum in ("", *strata)]

    settings = WatchSettings()
    invented = [f"category={number:04}" for number in range(500)]
    charts = charts_of(cells(invented), settings)
    assert "" in {chart.stratum for chart in charts}
    assert len(charts) <= 41
    assert len(charts) == most_at_once(charts, settings)


def test_where_nothing_shifts_there_is_no_incident(tmp_path: Path) -> None:
    facts = simulated(tmp_path / "scores", days=40, daily=40)
    look = watch_shifts(facts, "shop", tmp_path, WatchSettings())
    assert () == look.incidents
    assert look.charts > 10


def test_the_daily_report_estimates_shares_for_the_whole_population(tmp_path: Path) -> None:
    """Half of the sessions fail and are all scored; of the others one in ten is: weights undo that."""
    world, scores = World(1), list[SessionScore]()
    world.rates = {"order": 0.5}
    for one in world.scores(FIRST, 1500):
        failed = one.card is not None and one.card.success is False
        rate = 1.0 if failed else 0.1
        if world.chance(rate) and one.kind == "rules":
            scores.append(
                one.model_copy(update={"sampling": SessionSampling(rule="x", rate=rate, in_base=world.chance(0.1))})
            )
    store = new_store(tmp_path / "scores").score_store
    store.add(scores)
    report = daily_report(DayFacts(store, "shop"), "shop", tmp_path, FIRST.isoformat())

    (rate,) = [one for one in report.rates if one.signal == "success" and not one.group]
    assert rate.interval is not None
    assert rate.interval.low <= 0.5 <= rate.interval.high
    assert abs(rate.share - 0.5) < 0.1
    assert 1200 < report.population < 1800
    assert {"release", "model", "category", ""} == {one.group.partition("=")[0] for one in report.rates}
    assert {"release=1.0", "model=m", "category=refund"} <= {one.group for one in report.rates}
