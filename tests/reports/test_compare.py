"""Comparisons: paired by trial, honest about chance, and refused where the question was another one."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.errors import UsageError
from harness.reports.compare import Comparison, compare
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Diagnosis, Score, Scorecard

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


@pytest.fixture
def compared(card: Card, manifest: Manifest) -> Callable[..., Comparison]:
    def run(before: str, after: str, **fields: Any) -> Comparison:
        """One letter a case: + succeeded, - failed, ? not measured, space: not there."""
        kinds: dict[str, Any] = {"+": {"success": True}, "-": {"success": False}}
        unknown = {"success": None, "outcome": "inconclusive"}

        def cards(marks: str) -> list[Scorecard]:
            return [card(str(i), **kinds.get(mark, unknown)) for i, mark in enumerate(marks) if mark != " "]

        old, new = cards(before), cards(after)
        return compare(manifest(old, "old"), old, manifest(new, "new", **fields), new)

    return run


def test_trials_are_paired_and_counted(compared: Callable[..., Comparison]) -> None:
    found = compared("--+++?+ ", "++-+++ +")

    assert (found.success.pairs, found.success.before, found.success.after) == (5, 3 / 5, 4 / 5)
    assert (found.success.better, found.success.worse, found.success.same, found.unpaired) == (2, 1, 2, 3)
    assert [(case.case_id, case.before, case.after) for case in found.changed] == [
        ("0", False, True),
        ("1", False, True),
        ("2", True, False),
    ]
    assert found.metrics[0].difference == pytest.approx(1 / 5)


@pytest.mark.parametrize(
    ("before", "after", "p", "verdict"),
    [
        ("++--", "++--", None, "no case changed"),
        ("-----", "+++++", 0.0625, "only 5 case(s) changed: too few to exclude chance (6 in one direction are needed)"),
        ("------", "++++++", 0.03125, "better (p = 0.031)"),
        ("++++++", "------", 0.03125, "worse (p = 0.031)"),
        ("---+++", "+++---", 1.0, "could be chance (p = 1)"),
    ],
)
def test_the_verdict_says_whether_it_could_be_chance(
    compared: Callable[..., Comparison], before: str, after: str, p: float | None, verdict: str
) -> None:
    found = compared(before, after).success

    assert (found.p, found.verdict) == (p, verdict)


def test_attempts_at_one_case_count_once_in_the_test(card: Card, manifest: Manifest) -> None:
    before = [card("a", False, attempt) for attempt in range(1, 21)]
    after = [card("a", True, attempt) for attempt in range(1, 21)]

    found = compare(manifest(before), before, manifest(after, "new"), after).success

    assert (found.better, found.cases_better, found.p) == (20, 1, 1.0)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"suite_digest": "x"}, "their suite digests differ"),
        (
            {"scorer_versions": {"verifier:v": "2", "metric:own_figure": "1"}},
            "scored by different versions of: verifier:v 1 / 2",
        ),
        ({"scorer_versions": {"metric:own_figure": "1"}}, "verifier:v 1 / absent"),
    ],
)
def test_unlike_questions_and_unlike_scorers_are_refused(
    compared: Callable[..., Comparison], fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        compared("+", "+", **fields)


def test_runs_that_share_no_trial_are_refused(compared: Callable[..., Comparison]) -> None:
    with pytest.raises(UsageError, match="'old' and 'new'"):
        compared("+ ", " +")


def test_what_differs_between_the_runs_is_said_and_doubtful_things_are_flagged(
    compared: Callable[..., Comparison],
) -> None:
    found = compared("+", "+", agent="v2", snapshot_digest="9" * 64, tool_mode="sealed", packages_digest="8" * 64)

    assert [(one.field, one.note is not None) for one in found.differences] == [
        ("agent", False),
        ("snapshot_digest", True),
        ("packages_digest", True),
        ("tool_mode", True),
    ]


def test_a_metric_of_which_less_is_better_is_better_when_it_falls(card: Card, manifest: Manifest) -> None:
    def cards(steps: float) -> list[Scorecard]:
        score = Score(metric="steps", version="1", value=steps, lower_is_better=True)
        return [card(str(i)).model_copy(update={"scores": (score,)}) for i in range(8)]

    found = compare(manifest(cards(5.0)), cards(5.0), manifest(cards(3.0), "new"), cards(3.0)).metrics[0]

    assert (found.better, found.worse, found.difference, found.found) == (8, 0, -2.0, "better")


def test_many_metrics_are_corrected_by_holm_and_the_success_rate_stands_alone(card: Card, manifest: Manifest) -> None:
    names = [f"m{i}" for i in range(5)]

    def cards(moved: float) -> list[Scorecard]:
        return [
            card(str(i), moved > 0, figures={name: moved if name == "m0" else 0.5 for name in names}) for i in range(6)
        ] + [card(str(i), figures={"m1": float(moved > 0) if i % 2 else 0.5}) for i in range(6, 12)]

    found = compare(manifest(cards(0.0)), cards(0.0), manifest(cards(1.0), "new"), cards(1.0))

    tested = {one.metric: (one.p, one.p_corrected) for one in found.metrics if one.p is not None}
    assert tested == {"m0": (0.03125, 0.0625), "m1": (0.25, 0.25)}
    assert (found.success.p, found.success.p_corrected, found.success.found) == (0.03125, None, "better")


def test_what_cannot_be_told_says_how_many_cases_would(compared: Callable[..., Comparison]) -> None:
    found = compared("-" * 8 + "+" * 40, "+" * 6 + "-" * 4 + "+" * 38).success

    assert (found.found, found.cases_better, found.cases_worse, found.cases_needed) == ("cannot_tell", 6, 2, 181)
    assert found.verdict == "could be chance (p = 0.29); about 181 cases would be enough"


def test_failure_modes_and_models_are_compared_too(card: Card, manifest: Manifest) -> None:
    loop = Diagnosis(
        failure="loop_trap", kind="repeated_call", origin_step=1, evidence="e", confidence=0.9, version="1"
    )
    old = [card(str(i), i > 5, models=("m-1",), diagnoses=(loop,)) for i in range(8)]
    new = [card(str(i), models=("m-2",)) for i in range(8)]

    found = compare(manifest(old), old, manifest(new, "new"), new)

    assert [(one.metric, one.before, one.after, one.found) for one in found.failures] == [
        ("loop_trap", 1.0, 0.0, "better")
    ]
    assert [(one.part, one.before, one.after) for one in found.attribution.changed] == [("model", "m-1", "m-2")]


@pytest.mark.parametrize(
    ("fields", "changed", "separating"),
    [
        ({}, [], 0),
        ({"code_digest": "2" * 64, "agent_digest": "2" * 64}, ["agent"], 0),
        ({"prompt_digest": "p2", "agent_digest": "2" * 64}, ["prompt"], 0),
        ({"code_digest": "2" * 64, "prompt_digest": "p2", "agent_digest": "2" * 64}, ["agent", "prompt"], 1),
        ({"tools_digest": "t2", "snapshot_digest": "s2"}, ["tools", "snapshot"], 1),
        ({"tool_mode": "live"}, ["conditions"], 0),
        ({"variables": {"model": "m-2"}, "agent_digest": "2" * 64}, ["variables"], 0),
        ({"harness_version": "9", "release": "r9"}, [], 0),
    ],
)
def test_a_change_is_put_down_to_what_differs(
    card: Card, manifest: Manifest, fields: dict[str, Any], changed: list[str], separating: int
) -> None:
    cards = [card("a")]
    known = {"code_digest": "1" * 64, "prompt_digest": "p1"}

    found = compare(manifest(cards, **known), cards, manifest(cards, "new", **{**known, **fields}), cards).attribution

    assert [one.part for one in found.changed] == changed
    assert len(found.separating) == separating
    assert all("as in run" in words for words in found.separating)


@pytest.mark.parametrize(
    ("variables", "changed"),
    [({"model": "m-2"}, ["model"]), ({"model": "m-2", "tone": "loud"}, ["variables", "model"])],
)
def test_a_variable_that_names_the_model_that_answered_is_no_change_beside_it(
    card: Card, manifest: Manifest, variables: dict[str, str], changed: list[str]
) -> None:
    old, new = [card("a", models=("m-1-2026-01-31",))], [card("a", models=("m-2-2026-01-31",))]
    before = manifest(old, variables={"model": "m-1", "tone": "calm"})
    after = manifest(new, "new", variables={"tone": "calm", **variables})

    assert changed == [one.part for one in compare(before, old, after, new).attribution.changed]


def test_without_declared_prompts_the_system_messages_seen_are_the_prompt(card: Card, manifest: Manifest) -> None:
    old, new = [card("a", prompt="1" * 64)], [card("a", prompt="2" * 64)]

    found = compare(manifest(old), old, manifest(new, "new"), new).attribution

    assert [(one.part, one.before, one.after) for one in found.changed] == [("prompt", "1" * 12, "2" * 12)]
    assert found.verdict == "only the prompt differs: a change is caused by it or by chance"


@pytest.mark.parametrize(
    ("after", "fields", "says", "causes"),
    [
        (
            "-" * 9 + "+",
            {"model_mode": "live", "tool_mode": "live"},
            "look for an unrecorded cause",
            "model alias, live",
        ),
        ("-" * 9 + "+", {"pins": {"clock": "2026-01-01"}}, "look for an unrecorded cause", "the agent itself"),
        ("+" * 9 + "-", {"model_mode": "live"}, "each change could be chance", ""),
        ("-" * 10, {"agent_digest": "b" * 64, "code_digest": "c", "model_mode": "live"}, "or by what is not", "model"),
    ],
)
def test_a_change_that_is_no_chance_has_a_cause_although_nothing_recorded_differs(
    card: Card, manifest: Manifest, after: str, fields: dict[str, Any], says: str, causes: str
) -> None:
    old, new = [card(str(i)) for i in range(10)], [card(str(i), mark == "+") for i, mark in enumerate(after)]
    same = {name: value for name, value in fields.items() if "digest" not in name}
    before = manifest(old, code_digest="a", **same)

    found = compare(before, old, manifest(new, "new", **{"code_digest": "a", **fields}), new).attribution

    assert says in found.verdict
    assert "noise" not in found.verdict
    assert bool(causes) == ("(p = 0.0" in found.verdict) == bool(found.unrecorded)
    assert all(any(one.startswith(cause) for one in found.unrecorded) for cause in causes.split(", ") if cause)
