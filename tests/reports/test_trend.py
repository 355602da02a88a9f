"""Trends: figures by release, and jumps told by a test that is named."""

import io
import random
import shutil
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.errors import UsageError
from harness.reports.render.terminal import trend_view
from harness.reports.trend import Trend, TrendPoint, suite_of, trend
from harness.runs.store.baseline import opened_in
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest, VariedTrial
from harness.scoring.scorecard import Diagnosis, Scorecard
from harness.scoring.statistics.significance import fisher_greater, holm, level_of, level_of_look, sign_test_greater
from harness.suite.interventions import TrialVariant
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]
LOOP = Diagnosis(
    failure="loop_trap",
    kind="repeated_call",
    origin_step=1,
    dependent_steps=(2,),
    evidence="find thrice",
    confidence=0.9,
    version="1",
)


@pytest.fixture
def run(card: Card, manifest: Manifest, tmp_path: Path) -> Callable[..., RunFolder]:
    def build(name: str, loops: str, **fields: Any) -> RunFolder:
        """One letter a case, by its place or, where it is a letter, by name: x had a loop."""
        prefix, model = fields.pop("prefix", ""), fields.pop("model", None)
        models = {} if model is None else {"models": (model,)}
        cards = [card(f"{prefix}{i}", **models, diagnoses=(LOOP,) * (mark == "x")) for i, mark in enumerate(loops)]
        with RunFolder.create(tmp_path, manifest(cards, name, **fields)) as folder:
            for one in cards:
                trajectory = Trajectory(trace_id="t", agent="a", steps=())
                trial = Trial(case_id=one.case_id, attempt=1, outcome="finished", trajectory=trajectory)
                folder.commit(trial, (), one)
        return RunFolder.open(folder.path)

    return build


def test_releases_stand_in_the_order_of_their_first_runs_and_a_jump_is_flagged(run: Callable[..., RunFolder]) -> None:
    runs = [
        run("c", "x" * 8 + ".", release="r3", created="2026-03-01T00:00:00Z"),
        run("a", "." * 9, release="r1", created="2026-01-01T00:00:00Z"),
        run("b", "." * 9, release="r2", created="2026-02-01T00:00:00Z"),
    ]

    found = trend("drive_thru", runs)

    [agent] = found.agents
    assert "v1" == agent.name  # nothing else tells it from another
    assert [(one.name, one.runs, one.trials) for one in agent.releases] == [
        ("r1", ("a",), 9),
        ("r2", ("b",), 9),
        ("r3", ("c",), 9),
    ]
    line = next(line for line in agent.lines if line.name == "loop_trap")
    assert [round(point.value or 0, 3) for point in line.points] == [0.0, 0.0, 0.889]
    assert [(one.name, point.release, point.test) for one, point in agent.spikes] == [
        ("loop_trap", "r3", "sign test over the same cases")
    ]
    shown = [line.split() for line in _printed(found).splitlines()]
    assert ["drive_thru", "r1", "→", "r3"] in shown
    assert ["loop", "trap", "0", "%", "0", "%", "89", "%", "!"] in shown


def test_only_complete_runs_of_one_agent_and_model_are_pooled(run: Callable[..., RunFolder]) -> None:
    """The failing cases of r2 are run again, another agent and another model run on it, one run is interrupted, one is
    a shard, one a fork, and of one only the run itself knows that it is a selection.
    """
    at = "2026-02-{:02}T00:00:00Z".format
    first = run("first", "xx" + "." * 8, release="r1", created=at(1))
    again = [run(f"again{number}", "xx", release="r2", created=at(3 + number)) for number in range(3)]
    begun = run("begun", "x" * 10, release="r2", created=at(7))
    shutil.rmtree(next(begun.path.glob("trials/9")))
    variant = VariedTrial(case_id="0", attempt=1, variant=TrialVariant(parent="a/0/1"))
    runs = [
        first,
        run("second", "xx" + "." * 8, release="r2", created=at(2)),
        *again,
        RunFolder.open(begun.path),
        run("shard", "x" * 10, release="r2", created=at(8), shard="1/2"),
        run("fork", "x" * 10, release="r2", created=at(8), variants=(variant,)),
        run("part", "xx", release="r2", created=at(9), suite_digest="other", selected=True),
        run("v2", "x" * 10, release="r2", created=at(9), agent="v2"),
        run("mini", "x" * 10, release="r2", created=at(9), model="gpt-mini"),
        run("live", "x" * 10, release="r2", created=at(9), tool_mode="live"),
    ]

    found = trend("drive_thru", runs)

    names = ["v1, tools replay, model none", "v2, tools replay, model none", "v1, gpt-mini, tools replay, model none"]
    assert {*names, "v1, tools live, model none"} == {one.name for one in found.agents}
    assert ["first", "second"] == [name for release in found.agents[0].releases for name in release.runs]
    line = found.agents[0].line("loop_trap")
    assert line is not None
    assert [0.2, 0.2] == [point.value for point in line.points]
    assert all(point.interval is not None and point.interval.low < 0.2 < point.interval.high for point in line.points)
    assert ["again0", "again1", "again2", "begun", "fork", "shard", "part"] == [one.run for one in found.incomplete]
    assert not found.jumped
    with pytest.raises(UsageError, match=r"no complete run[^$]*part: it has a selection"):
        trend("drive_thru", [run for run in runs if run.manifest.run == "part"])


def test_traces_that_never_come_twice_are_tested_by_fisher(run: Callable[..., RunFolder]) -> None:
    runs = [
        run("a", "x" + "." * 19, prefix="p", release="r1"),
        run("b", "x" * 10 + "." * 10, prefix="q", release="r2", created="2026-03-01T00:00:00Z"),
    ]

    point = trend("drive_thru", runs).spikes[0][2]

    assert (point.release, point.test) == ("r2", "Fisher's exact test over cases")


def test_a_release_that_only_varies_is_not_flagged(run: Callable[..., RunFolder]) -> None:
    runs = [run("a", "x.......", release="r1"), run("b", ".xx.....", release="r2", created="2026-03-01T00:00:00Z")]

    assert trend("drive_thru", runs).spikes == []


def test_a_damaged_run_is_listed_and_left_out(run: Callable[..., RunFolder]) -> None:
    runs = [run(name, "." * 3, release=name, created=f"2026-0{at}-01T00:00:00Z") for at, name in enumerate("abc", 1)]
    card = next(runs[1].path.glob("trials/*/*/scorecard.json"))
    card.write_text("{")
    (runs[2].path / "manifest.json").write_text("{")

    readable, damaged = opened_in(runs[0].path.parent)
    found = trend("drive_thru", readable, unreadable=damaged)

    assert ("a",) == found.releases
    assert ["b", "c"] == sorted(one.run for one in found.damaged)
    assert str(card) in next(one.problem for one in found.damaged if one.run == "b")
    assert "b (" in _printed(found)
    with pytest.raises(UsageError, match="\n  b: "):
        trend("drive_thru", [runs[1]])


def test_a_suite_without_runs_is_refused(run: Callable[..., RunFolder]) -> None:
    runs = [run("a", "."), run("b", ".", suite="other")]

    for suite, said in ((None, "--suite|drive_thru"), ("absent", "'absent'")):
        with pytest.raises(UsageError, match=said):
            suite_of(runs, suite)
    with pytest.raises(UsageError, match="'v9'"):
        trend("drive_thru", runs, agent="v9")


def test_the_exact_tests_are_what_counting_gives() -> None:
    assert sign_test_greater(5, 1) == (comb(6, 0) + comb(6, 1)) / 2**6
    assert sign_test_greater(0, 0) is None
    assert fisher_greater(3, 1, 1, 3) == pytest.approx((16 + 1) / 70)  # the tea tasting lady
    assert holm([0.01, None, 0.04, 0.03]) == [0.03, None, 0.06, 0.06]


def test_it_says_from_how_many_worse_cases_it_would_flag(run: Callable[..., RunFolder]) -> None:
    """Nine of nine cases worse: p = 1/512; eight: 1/256. At 1.25 %, the first look at the release."""
    runs = [
        run("a", "." * 25, created="2026-01-01T00:00:00Z"),
        run("b", "x" + "." * 24, created="2026-02-01T00:00:00Z"),
    ]
    found = trend("drive_thru", runs)
    lines = found.agents[0].lines
    point = next(line for line in lines if line.kind == "failure").points[-1]
    figures = sum(line.points[-1].p is not None for line in lines)
    assert (25, 0.0125, 1, 1) == (point.cases, point.level, point.look, point.looks)
    assert point.flags_from is not None
    assert 0.5**point.flags_from <= 0.0125 / figures < 0.5 ** (point.flags_from - 1)
    assert f"{point.flags_from} of 25 cases worse" in _printed(found)


def test_the_levels_of_all_releases_sum_to_five_percent() -> None:
    assert 0.05 == pytest.approx(sum(level_of(number) for number in range(1, 100_001)), abs=1e-6)


def test_looking_at_every_release_raises_few_false_alarms() -> None:
    """400 histories of 20 releases of 25 cases that never get worse; at 5 % a look, most would be flagged once."""
    chance = random.Random(5)
    spent = naive = 0
    for _ in range(400):
        looks = []
        for number in range(1, 20):
            worse = sum(chance.random() < 0.5 for _ in range(25))
            p = sign_test_greater(worse, 25 - worse)
            looks.append((p is not None and p <= level_of(number), p is not None and p <= 0.05))
        spent += any(flagged for flagged, _ in looks)
        naive += any(flagged for _, flagged in looks)
    assert spent <= 0.05 * 400
    assert naive > 0.2 * 400


def test_the_levels_of_all_looks_at_a_release_sum_to_its_level() -> None:
    for number in (1, 7):
        assert level_of(number) == pytest.approx(
            sum(level_of_look(number, look) for look in range(1, 100_001)), rel=1e-4
        )


@pytest.mark.slow
def test_looking_after_every_run_of_a_release_raises_few_false_alarms(run: Callable[..., RunFolder]) -> None:
    """20 releases of six runs that are no worse; at 5 % a look, several would be flagged."""
    chance = random.Random(11)
    spent = naive = 0
    for history in range(20):
        runs = [run(f"old{history}", _loops(chance), release="old", created="2026-01-01T00:00:00Z")]
        looks = []
        for number in range(1, 7):
            created = f"2026-02-0{number}T00:00:00Z"
            runs.append(run(f"new{history}-{number}", _loops(chance), release="new", created=created))
            looks.append(_loop_point(runs))
        spent += any(point.spike for point in looks)
        naive += any(point.p is not None and point.p <= 0.05 for point in looks)
        assert looks[-1].looks == 6
    assert spent <= 0.05 * 20 < naive


def test_a_release_that_a_look_flagged_stays_flagged_after_further_runs(run: Callable[..., RunFolder]) -> None:
    runs = [
        run("a", "." * 25, release="one", created="2026-01-01T00:00:00Z"),
        run("b", "x" * 25, release="two", created="2026-02-01T00:00:00Z"),
    ]
    first = _loop_point(runs)
    assert (True, 1, 1) == (first.spike, first.look, first.looks)
    runs += [run(f"c{i}", "." * 25, release="two", created=f"2026-03-0{i}T00:00:00Z") for i in (1, 2)]
    later = _loop_point(runs)
    assert (True, 1, 3, first.p) == (later.spike, later.look, later.looks, later.p)


def test_a_jump_that_one_run_could_not_show_is_flagged_by_a_later_look(run: Callable[..., RunFolder]) -> None:
    runs = [
        run("a", "." * 25, release="one", created="2026-01-01T00:00:00Z"),
        run("b", "xxx" + "." * 22, release="two", created="2026-02-01T00:00:00Z"),
    ]
    assert not _loop_point(runs).spike
    runs.append(run("c", "x" * 20 + "." * 5, release="two", created="2026-02-02T00:00:00Z"))
    point = _loop_point(runs)
    assert (True, 2, level_of_look(1, 2)) == (point.spike, point.look, point.level)


@pytest.mark.slow
def test_a_case_that_fails_now_and_then_is_not_worse_for_being_run_more_often(run: Callable[..., RunFolder]) -> None:
    """Every case fails once in twelve runs: against one run before, the mean of each is worse."""
    runs = [run("old", "." * 24, release="one", created="2026-01-01T00:00:00Z")]
    for number in range(12):
        loops = "".join("x" if case // 2 == number else "." for case in range(24))
        runs.append(run(f"new{number}", loops, release="two", created=f"2026-02-{number + 1:02}T00:00:00Z"))
    point = _loop_point(runs)
    assert (False, 12, 24) == (point.spike, point.looks, point.cases)


def test_a_further_run_of_an_earlier_release_is_a_look_as_well(run: Callable[..., RunFolder]) -> None:
    runs = [
        run("a", "." * 25, release="one", created="2026-01-01T00:00:00Z"),
        run("b", "x" + "." * 24, release="two", created="2026-02-01T00:00:00Z"),
        run("c", "." * 25, release="one", created="2026-03-01T00:00:00Z"),
    ]
    point = _loop_point(runs)
    assert (2, 2, level_of_look(1, 2)) == (point.looks, point.look, point.level)


def _printed(found: Trend) -> str:
    stream = io.StringIO()
    Console(file=stream, width=200).print(trend_view(found))
    return stream.getvalue()


def _loops(chance: random.Random) -> str:
    return "".join("x" if chance.random() < 0.25 else "." for _ in range(10))


def _loop_point(runs: list[RunFolder]) -> TrendPoint:
    """The newest release's share of loop traps."""
    [agent] = trend("drive_thru", runs).agents
    none = TrendPoint(release="new", n=0, value=None)
    return next((line.points[-1] for line in agent.lines if line.name == "loop_trap"), none)
