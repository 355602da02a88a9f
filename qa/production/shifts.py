"""Planted shifts of production: days to the alert, and false alarms a year: `python -m qa.production.shifts`.

Simulated days of 200 scored sessions; on day 30 a check's rate rises from 4 to 8 %, a tool's answers change, another
judge judges, or a release of a tenth of the sessions fails more often. Where nothing shifts, 40 charts are looked at
every day of a year, half of them wider than chance; and all charts of a project with categories, models, and a new
release every two weeks, as `harness online watch` makes them.
"""

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from harness.judging.verdicts import JudgeIdentity, Judgement
from harness.production.charts import charts_of, shifts_of
from harness.production.days import Cell, DayFacts
from harness.production.scores import SessionSampling, SessionScore, ToolFacts
from harness.production.settings import WatchSettings
from harness.production.storage import StoreLayout
from harness.production.store import SessionStore
from harness.production.watch import Incident, grouped_shifts, watch_shifts
from harness.scoring.evidence import Verdict
from harness.scoring.scorecard import Scorecard
from harness.scoring.statistics.significance import RateDetector, reference_of

FIRST = date(2026, 1, 1)
CASE = Scorecard(case_id="production", attempt=1, category="general", outcome="finished",
                 success=True, digest="d")  # fmt: skip


class World:
    """What production does from one day to the next; tests change it on a day."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rates = {"order": 0.04, "polite": 0.06}
        self.criterion = 0.10
        self.canary: tuple[str, float, float] | None = None
        """A release, its share of the sessions, and the rate at which its order check fails."""
        self.release, self.judge, self.shape, self.tool_error = "1.0", "judge-1", "aaaa", 0.02

    def chance(self, rate: float) -> bool:
        return self.random.random() < rate

    def scores(self, day: date, count: int) -> Iterator[SessionScore]:
        at = int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp() * 1e9)
        for number in range(count):
            release, rates = self.release, self.rates
            if self.canary is not None and self.chance(self.canary[1]):
                release, rates = self.canary[0], {**rates, "order": self.canary[2]}
            verdicts = tuple(
                Verdict(check=name, verifier="v", version="1", passed=not self.chance(rate), reason="")
                for name, rate in rates.items()
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
                release=release,
                model="m",
                category=("refund", "order")[number % 2],
                received_ns=at,
                steps=5,
                sampling=SessionSampling(rule="all", rate=1, in_base=True),
                card=card,
                tools={"look": ToolFacts(calls=2, errors=int(self.chance(self.tool_error)), shapes=(self.shape,))},
            )
            yield common
            yield common.model_copy(
                update={"kind": "judge", "card": None, "tools": {}, "judge": self.judge, "rubric": "r",
                        "judgements": (self.judgement(),)}
            )  # fmt: skip

    def judgement(self) -> Judgement:
        passed = not self.chance(self.criterion)
        return Judgement(run="online", case_id="c", attempt=1, trajectory="d", rubric="r", rubric_version="1",
                         rubric_digest="d", criterion="helpful", criterion_version="1", eligible=True, passed=passed,
                         judge=JudgeIdentity(model=self.judge))  # fmt: skip


def new_store(folder: Path) -> SessionStore:
    """An empty store."""
    StoreLayout(folder).create()
    return SessionStore.open(folder)


def simulated(
    folder: Path, *changes: tuple[int, Callable[[World], None]], days: int = 60, daily: int = 200, seed: int = 3
) -> DayFacts:
    """Days of production, in which each change begins on its day."""
    world, store = World(seed), new_store(folder).score_store
    scores: list[SessionScore] = []
    for number in range(days):
        for day, change in changes:
            if number == day:
                change(world)
        scores += world.scores(FIRST + timedelta(days=number), daily)
    store.add(scores)
    return DayFacts(store, "shop")


def delay(incident: Incident) -> int:
    return (date.fromisoformat(incident.opened) - FIRST).days - 30


def rise(world: World) -> None:
    world.rates["order"], world.release = 0.08, "1.1"


def drift(world: World) -> None:
    world.shape = "bbbb"


def other_judge(world: World) -> None:
    world.judge, world.criterion = "judge-2", 0.25


def canary(world: World) -> None:
    world.canary = ("2.0-rc", 0.1, 0.2)


CHANGES = {"rate 4 to 8 %": rise, "tool drift": drift, "judge version": other_judge, "canary 4 to 20 %": canary}


def delays(change: Callable[[World], None], seeds: int) -> dict[str, Any]:
    """Days from the change to the incident; None: there was none. An incident before the change is a false alarm."""
    found: list[int | None] = []
    early = 0
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as folder:
            facts = simulated(Path(folder) / "scores", (30, change), seed=seed)
            days = sorted(delay(one) for one in watch_shifts(facts, "shop", Path(folder), WatchSettings()).incidents)
        early += sum(one < 0 for one in days)
        found.append(next((one for one in days if one >= 0), None))
    seen = [one for one in found if one is not None]
    return {"of": seeds, "seen": len(seen), "median_days": median(seen) if seen else None,
            "most_days": max(seen, default=None), "early": early}  # fmt: skip


def false_alarms(charts: int, first_seed: int = 0) -> int:
    """Of so many charts in one year in which nothing shifts."""
    alarms = 0
    for seed in range(first_seed, first_seed + charts):
        drawn = random.Random(seed)

        def count(drawn: random.Random = drawn, wide: bool = bool(seed % 2)) -> tuple[int, int]:
            rate = drawn.betavariate(4, 96) if wide else 0.04
            return sum(drawn.random() < rate for _ in range(100)), 100

        reference = reference_of([count() for _ in range(14)], margin=0.005, z=2.0)
        assert reference is not None
        detector = RateDetector(reference, 365 * charts / 2)
        alarms += any(detector.look(*count()) for _ in range(365))
    return alarms


SIGNALS = (
    "success", "check:order", "check:polite", "check:price", "criterion:helpful", "criterion:grounded",
    "mode:loop_trap", "mode:goal_drift", "tool:look", "tool:pay", "feedback", "unreadable",
)  # fmt: skip


def quiet_year(seed: int, days: int = 365, daily: int = 200) -> list[Cell]:
    """Counts of a year in which nothing shifts; the rates of every second signal differ by more than chance."""
    drawn = random.Random(seed)
    rates = {signal: drawn.uniform(0.01, 0.2) for signal in SIGNALS}
    cells: Counter[tuple[str, str, str]] = Counter()
    sessions: Counter[tuple[str, str, str]] = Counter()
    for number in range(days):
        day = (FIRST + timedelta(days=number)).isoformat()
        today = {
            signal: drawn.betavariate(60 * rate, 60 * (1 - rate)) if place % 2 else rate
            for place, (signal, rate) in enumerate(rates.items())
        }
        for _ in range(daily):
            fresh = drawn.random() < min(1.0, (number % 14 + 1) / 3)  # a release is rolled out within three days
            strata = ("", f"category={drawn.choice(('refund', 'order'))}", f"model={drawn.choice('mn')}",
                      f"release={number // 14 - (not fresh)}")  # fmt: skip
            for signal, rate in today.items():
                bad = drawn.random() < rate
                for stratum in strata:
                    cells[day, signal, stratum] += bad
                    sessions[day, signal, stratum] += 1
    return [Cell(*place, cells[place], count) for place, count in sessions.items()]


def false_incidents(seed: int) -> tuple[int, int]:
    """(alarms, charts) of `harness online watch` in a quiet year; alarms that are open together are one."""
    settings = WatchSettings()
    charts = charts_of(quiet_year(seed), settings)
    return len(grouped_shifts(shifts_of(charts, settings))), len(charts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--years", type=int, default=10)
    given = parser.parse_args()
    for name, change in CHANGES.items():
        print(json.dumps({name: delays(change, given.seeds)}), flush=True)
    by_year = [false_alarms(40, 1000 * year) for year in range(given.years)]
    print(json.dumps({"false_alarms_a_year": by_year, "mean": sum(by_year) / max(1, len(by_year))}), flush=True)
    whole = [false_incidents(seed) for seed in range(given.years)]
    found = [alarms for alarms, _ in whole]
    print(json.dumps({"false_incidents_a_year": found, "charts": whole and whole[0][1]}), flush=True)


if __name__ == "__main__":
    main()
