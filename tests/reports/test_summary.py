"""Summaries: every trial is counted once, and what was not measured stands in no figure."""

from collections.abc import Callable
from typing import Any

from harness.reports.summarising import summarise
from harness.runs.store.manifest import PlannedTrial, RunManifest
from harness.scoring.scorecard import Scorecard
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


def test_trials_that_were_not_measured_are_in_no_denominator(card: Card, manifest: Manifest) -> None:
    cards = [
        card("a", True),
        card("b", False),
        card("c", None, outcome="inconclusive", reason="1 call(s) met no recording"),
        card("d", None, outcome="harness_failed", reason="no engine"),
        card("e", None),
        card("f", False, outcome="limit_reached", reason="50 steps"),
    ]
    planned = [*cards, card("g")]

    summary = summarise(manifest(planned), cards)

    assert summary.counts.model_dump() == {
        "planned": 7,
        "undecided": 1,
        "held_against": 2,
        "finished": 3,
        "limit_reached": 1,
        "agent_failed": 0,
        "inconclusive": 1,
        "simulator_failed": 0,
        "harness_failed": 1,
        "not_run": 1,
    }
    assert (summary.counts.measured, summary.counts.unmeasured) == (4, 3)
    assert (summary.success.successes, summary.success.n, summary.success.rate) == (1, 3, 1 / 3)
    assert [(one.metric, one.n, one.mean) for one in summary.figures] == [("own_figure", 3, 1 / 3)]
    assert [(one.case_id, one.outcome) for one in summary.unmeasured] == [
        ("c", "inconclusive"),
        ("d", "harness_failed"),
        ("g", "not_run"),
    ]
    assert [(one.case_id, one.success, one.reasons) for one in summary.failed] == [
        ("b", False, ("k: as seen",)),
        ("e", None, ("k: as seen",)),
        ("f", False, ("limit_reached: 50 steps", "k: as seen")),
    ]


def test_an_unknown_value_is_never_averaged_as_zero(card: Card, manifest: Manifest) -> None:
    cards = [card("a", figures={"m": 0.5}), card("b", figures={"m": None})]

    (figure,) = summarise(manifest(cards), cards).figures

    assert (figure.n, figure.mean) == (1, 0.5)


def test_groups_follow_the_suites_order(card: Card, manifest: Manifest) -> None:
    cards = [
        card("z", category="zebra"),
        card("a", False, category="ape"),
        card("y", None, category="zebra", outcome="inconclusive"),
    ]

    summary = summarise(manifest(cards), list(reversed(cards)))

    assert [(one.name, one.trials, one.success.n) for one in summary.categories] == [("zebra", 2, 1), ("ape", 1, 1)]


def test_a_run_without_any_trial_has_no_rate(manifest: Manifest) -> None:
    summary = summarise(manifest(planned=(PlannedTrial(case_id="a", attempt=1),)), [])

    assert (summary.success.rate, summary.success.interval, summary.counts.not_run) == (None, None, 1)
    assert (summary.figures, summary.categories) == ((), ())


def test_repeated_attempts_widen_the_interval(card: Card, manifest: Manifest) -> None:
    once = [card(str(i), i % 2 == 0) for i in range(10)]
    often = [card(str(i), i % 2 == 0, attempt) for i in range(10) for attempt in range(1, 6)]

    assert summarise(manifest(often), often).success.interval == summarise(manifest(once), once).success.interval


def test_misses_are_named_by_tool_with_the_nearest_recording(card: Card, manifest: Manifest) -> None:
    nothing = Trajectory(trace_id="t", agent="a", steps=())
    near: Any = {"tool": "find", "arguments": {"q": "a"}, "difference": "/q: 'b' instead of 'a'"}
    misses: Any = ({"tool": "find", "arguments": {"q": "b"}, "nearest": [near]}, {"tool": "add", "arguments": {}})
    trials = [
        Trial(
            case_id=case,
            attempt=1,
            outcome="inconclusive",
            trajectory=nothing,
            misses=misses[: 2 - i],
            tiers={"exact": 3, "miss": 1},
        )
        for i, case in enumerate(("a", "b"))
    ]

    summary = summarise(
        manifest([card("a"), card("b")]),
        [],
        trials=trials,
    )

    assert summary.tiers == {"exact": 6, "miss": 2}
    assert [one.model_dump() for one in summary.misses] == [
        {"tool": "add", "calls": 1, "trials": 1, "example": "{}", "nearest": None, "model": False, "user": None},
        {
            "tool": "find",
            "calls": 2,
            "trials": 2,
            "example": '{"q":"b"}',
            "nearest": "find({\"q\":\"a\"}): /q: 'b' instead of 'a'",
            "model": False,
            "user": None,
        },
    ]


def test_of_a_dead_services_log_the_last_line_stands_beside_its_trial(card: Card, manifest: Manifest) -> None:
    reason = "service 'desk' ended"
    cards = [card("a", True), card("b", None, outcome="harness_failed", reason=reason)]
    logs = {"desk": "began\nout of paper\n\n", "mute": ""}
    died = Trial(
        case_id="b",
        attempt=1,
        outcome="harness_failed",
        reason=reason,
        trajectory=Trajectory(trace_id="", agent="a", steps=()),
        service_logs=logs,
    )

    (one,) = summarise(manifest(cards), cards, trials=[died]).unmeasured

    assert {"desk": "out of paper", "mute": ""} == one.last_lines
