"""The step that is named first: by what was counted, else by the order in which causes come before consequences."""

from typing import Any, get_args

import pytest

from harness.scoring.failures.ranking import Counted, Fitted, suspects
from harness.scoring.scorecard import Diagnosis, Kind
from harness.traces.trajectory import Step, Trajectory

UNPLACED = {"failed_without_a_known_mode", "invented_parameter", "invented_value", "left_to_the_user", "made_up_data"}
UNPLACED |= {"missing_call", "stated_assumption", "unseen_target", "wrong_answer", "wrong_order", "wrong_tool"}
UNPLACED |= {"wrong_words"}
NOTHING = Fitted()
"""No labelled run: every kind is placed by the order alone."""


def finding(kind: str, step: int | None, **fields: Any) -> Diagnosis:
    values = {"failure": "loop_trap", "evidence": "e", "confidence": 1.0, "version": "1", "dependent_steps": ()}
    return Diagnosis.model_validate({"kind": kind, "origin_step": step, **values, **fields})


def named(*found: Diagnosis, numbers: Fitted = NOTHING, success: bool | None = False) -> list[str]:
    trajectory = Trajectory(trace_id="t", agent="main", steps=())
    return [str(one.kind) for one in suspects(found, trajectory, success=success, numbers=numbers)]


def test_every_kind_with_a_place_can_be_named_and_none_comes_before_a_value_that_was_copied_wrongly() -> None:
    alone = {kind for kind in get_args(Kind) if named(finding(kind, 1))}
    assert UNPLACED == set(get_args(Kind)) - alone
    for kind in sorted(set(get_args(Kind)) - {"miscopied_value"}):
        assert ["miscopied_value", kind] == named(finding("miscopied_value", 1), finding(kind, 2, confidence=0.9))


def test_causes_stand_before_their_consequences_whatever_the_order_of_their_steps() -> None:
    order = ["miscopied_value", "wrong_argument", "hidden_error_carried", "carried_premise", "guessed_argument"]
    order += ["invented_tool", "repeated_call", "missing_write", "claimed_call"]
    assert order == named(*(finding(kind, step) for step, kind in enumerate(reversed(order))))


def test_a_kind_that_was_counted_has_its_share_drawn_to_the_common_one_by_ten_cases() -> None:
    """Of 20 cases 9 are right: (8 + 4.5) / 20 = 0.625 and (1 + 4.5) / 20 = 0.275, beside 0.55, 0.3 and 0.25."""
    counts = {"repeated_call": Counted(right=8, cases=10), "echoed_call": Counted(right=1, cases=10)}
    numbers = Fitted.model_validate({"steps": counts})
    order = ["repeated_call", "miscopied_value", "barren_calls", "echoed_call", "stopped_early"]
    assert order == named(*(finding(kind, step) for step, kind in enumerate(reversed(order))), numbers=numbers)
    exact = [numbers.model_copy(update={"certain": least}) for least in (0.275, 0.2751)]
    assert [["echoed_call"], []] == [named(finding("echoed_call", 1), numbers=one) for one in exact]


@pytest.mark.parametrize(
    ("confidence", "order"),
    [(1.0, ["judged", "miscopied_value"]), (0.9, ["miscopied_value", "judged"])],
)
def test_a_judges_finding_counts_by_six_tenths_of_its_confidence(confidence: float, order: list[str]) -> None:
    assert order == named(finding("miscopied_value", 2), finding("judged", 1, confidence=confidence))


def test_a_suites_own_finding_stands_last_and_is_not_named_alone() -> None:
    own = finding("suite:own", 1)
    assert ["claimed_call", "suite:own"] == named(own, finding("claimed_call", 2))
    assert [] == named(own)
    surer, doubtful = finding("suite:own", 2), finding("suite:other", 1, confidence=0.9)
    assert ["claimed_call", "suite:own", "suite:other"] == named(doubtful, surer, finding("claimed_call", 3))


def test_one_step_has_one_finding_and_what_has_no_step_has_none() -> None:
    assert ["miscopied_value"] == named(finding("claimed_call", 1), finding("miscopied_value", 1))
    assert ["miscopied_value"] == named(finding("miscopied_value", 1), finding("claimed_call", 1))
    assert [] == named(finding("miscopied_value", None), finding("miscopied_value", 1, failure="other"))
    assert [[], ["miscopied_value"]] == [named(finding("miscopied_value", 1), success=one) for one in (True, None)]


def test_a_step_is_told_with_its_source_and_agent() -> None:
    steps = (
        Step(index=0, source="user", message="x"),
        Step(index=1, source="agent", agent="helper"),
        Step(index=2, source="agent"),
    )
    trajectory = Trajectory(trace_id="t", agent="main", steps=steps)
    kinds = ("miscopied_value", "wrong_argument", "guessed_argument", "claimed_call")
    found = suspects(
        [finding(kind, step) for step, kind in enumerate(kinds)], trajectory, success=False, numbers=NOTHING
    )
    assert [("user", None), ("agent", "helper"), ("agent", "main"), ("agent", None)] == [
        (one.source, one.agent) for one in found
    ]
    for kind in ("hidden_error_carried", "injected_answer_carried", "contradicted_answer_carried"):
        [tool] = suspects([finding(kind, 1)], trajectory, success=False, numbers=NOTHING)
        assert ("tool", None) == (tool.source, tool.agent)


def test_what_benchmarks_say_of_a_write_stands_with_the_first_step_alone() -> None:
    """Two sources of 20: (15 + 12 + 1) / (40 + 2), within the interval of each by what the other says."""
    counts = {"a": Counted(right=15, cases=20), "b": Counted(right=12, cases=20)}
    numbers = Fitted.model_validate({"writes": {"miscopied_value": counts, "wrong_argument": counts}})
    trajectory = Trajectory(trace_id="t", agent="main", steps=())
    both = [finding("miscopied_value", 1), finding("wrong_argument", 2)]
    first, second = suspects(both, trajectory, success=False, numbers=numbers)
    assert (0.67, 27, 40) == (
        first.probability,
        first.writes and first.writes.right,
        first.writes and first.writes.cases,
    )
    assert (None, None) == (second.probability, second.writes)
