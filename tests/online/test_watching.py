"""Shifts are noticed within days, beside what changed then; where nothing shifts, hardly ever an alarm is raised."""

import random
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from harness.issues import FolderTracker, TrackerOptions, file_incidents
from harness.judge import JudgeIdentity, Judgement
from harness.online import (
    DayFacts,
    Incident,
    Sampling,
    SessionScore,
    ToolFacts,
    WatchSettings,
    accept_incident,
    daily_report,
    watch_shifts,
)
from harness.online.score_store import ScoreStore
from harness.score import Scorecard, Verdict
from harness.stats import RateDetector, reference_of

FIRST = date(2026, 1, 1)
CASE = Scorecard(case_id="production", attempt=1, category="general", difficulty="medium", outcome="finished",
                 success=True, digest="d")  # fmt: skip


class World:
    """What production does from one day to the next; tests change it on a day."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rates = {"order": 0.04, "polite": 0.06}
        self.criterion = 0.10
        self.release, self.judge, self.shape, self.tool_error = "1.0", "judge-1", "aaaa", 0.02

    def chance(self, rate: float) -> bool:
        return self.random.random() < rate

    def scores(self, day: date, count: int) -> Iterator[SessionScore]:
        at = int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp() * 1e9)
        for number in range(count):
            verdicts = tuple(
                Verdict(check=name, verifier="v", version="1", passed=not self.chance(rate), reason="")
                for name, rate in self.rates.items()
            )
            card = CASE.model_copy(
                update={"verdicts": verdicts, "success": all(verdict.passed for verdict in verdicts)}
            )
            common = SessionScore(
                session=f"default:{day}.{number}",
                digest="d",
                kind="rules",
                scorer="s",
                scored_at=f"{day}T13:00:00",
                suite="shop",
                source="default",
                release=self.release,
                model="m",
                category=("refund", "order")[number % 2],
                received_ns=at,
                steps=5,
                sampling=Sampling(rule="all", rate=1, in_base=True),
                card=card,
                tools={"look": ToolFacts(calls=2, errors=int(self.chance(self.tool_error)), shapes=(self.shape,))},
            )
            yield common
            yield common.model_copy(
                update={"kind": "judge", "card": None, "tools": {}, "judge": self.judge,
                        "judgements": (self.judgement(),)}
            )  # fmt: skip

    def judgement(self) -> Judgement:
        passed = not self.chance(self.criterion)
        return Judgement(run="online", case_id="c", attempt=1, trajectory="d", rubric="r", rubric_version="1",
                         rubric_digest="d", criterion="helpful", criterion_version="1", eligible=True, passed=passed,
                         judge=JudgeIdentity(model=self.judge))  # fmt: skip


def simulated(
    folder: Path, *changes: tuple[int, Callable[[World], None]], days: int = 60, daily: int = 200
) -> DayFacts:
    """Days of production, in which each change begins on its day."""
    folder.mkdir(parents=True, exist_ok=True)
    world, store = World(3), ScoreStore(folder)
    scores: list[SessionScore] = []
    for number in range(days):
        for day, change in changes:
            if number == day:
                change(world)
        scores += world.scores(FIRST + timedelta(days=number), daily)
    store.add(scores)
    return DayFacts(store.facts(), "shop")


def delay(incident: Incident) -> int:
    return (date.fromisoformat(incident.opened) - FIRST).days - 30


def rise(world: World) -> None:
    world.rates["order"], world.release = 0.08, "1.1"


def drift(world: World) -> None:
    world.shape = "bbbb"


def other_judge(world: World) -> None:
    world.judge, world.criterion = "judge-2", 0.25


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
    alarms, charts = 0, 40
    for seed in range(charts):
        drawn = random.Random(seed)

        def count(drawn: random.Random = drawn, wide: bool = bool(seed % 2)) -> tuple[int, int]:
            rate = drawn.betavariate(4, 96) if wide else 0.04
            return sum(drawn.random() < rate for _ in range(100)), 100

        reference = reference_of([count() for _ in range(14)], margin=0.005, z=2.0)
        assert reference is not None
        detector = RateDetector(reference, 365 * charts / 2)
        alarms += any(detector.look(*count()) for _ in range(365))
    assert alarms <= 2


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
    assert {"release=1.0", "category=refund"} <= {one.group for one in report.rates}
