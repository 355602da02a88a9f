"""Failures that begin in a tool's answer or a user's word, and what would have stopped them."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.reports.render.trajectory import explained
from harness.scoring.evidence import Evidence
from harness.scoring.failures.diagnose import diagnose, findings
from harness.scoring.failures.ranking import suspects
from harness.scoring.scorecard import Diagnosis, Scorecard

Told = Callable[..., Evidence]
CANCELLED = ("call", "cancel_order", {"order_id": "W1000001", "reason": "none"}, "cancelled")


def _of(evidence: Evidence, kind: str) -> list[Diagnosis]:
    return [one for one in diagnose(evidence) if one.kind == kind]


def _with_profile(evidence: Evidence, profile: dict[str, Any]) -> Evidence:
    case = evidence.case.model_copy(update={"user_profile": profile})
    return evidence.model_copy(update={"case": case})


@pytest.mark.parametrize(
    "answer",
    [{"error": "the order is locked"}, '{"success": false}', {"status": "failed"}, "Error: the order is locked"],
)
def test_an_error_flagged_as_a_success_is_the_origin_of_what_was_built_on_it(told: Told, answer: object) -> None:
    cancel = ("call", "cancel_order", {"order_id": "W1000001", "reason": "none"}, answer)
    update = ("call", "update_order", {"order_id": "W1000001", "address": "Elm Street"}, "updated")
    evidence = told(("user", "cancel W1000001"), cancel, update, ("agent", "W1000001 is dealt with."), failed=True)
    [one] = _of(evidence, "hidden_error_carried")
    assert (1, (2, 3)) == (one.origin_step, one.dependent_steps)
    assert "the read after the write, by get_order(order_id)" == one.prevention
    first = suspects([one], evidence.trial.trajectory, success=False)[0]
    assert ("tool", None, 1) == (first.source, first.agent, first.step)


def test_an_error_that_was_tried_again_with_success_or_that_nothing_rests_on_is_no_origin(told: Told) -> None:
    cancel = ("call", "cancel_order", {"order_id": "W1000001", "reason": "none"}, {"error": "locked"})
    assert [] == _of(told(("user", "W1000001"), cancel, CANCELLED, failed=True), "hidden_error_carried")
    assert [] == _of(told(("user", "W1000001"), cancel, failed=True), "hidden_error_carried")
    said = ("agent", "W1000001 is dealt with.")
    assert [] == _of(told(("user", "W1000001"), cancel, said), "hidden_error_carried")
    payment = ("call", "get_order", {"order_id": "W1000001"}, {"status": "failed"})
    assert [] == _of(told(("user", "W1000001"), payment, said, failed=True), "hidden_error_carried")


def _read_twice(told: Told, *between: tuple[Any, ...], use: str = "I4000002") -> Evidence:
    first = ("call", "get_order", {"order_id": "W1000001"}, {"item": "I4000001", "seen": "12:00"})
    second = ("call", "get_order", {"order_id": "W1000001"}, {"item": "I4000002", "seen": "12:01"})
    stock = ("call", "get_stock", {"item_id": use}, "3")
    return told(("user", "order W1000001"), first, *between, second, stock, failed=True)


def test_the_answer_whose_value_was_used_is_the_origin_where_two_answers_contradict(told: Told) -> None:
    [later] = _of(_read_twice(told), "contradicted_answer_carried")
    [earlier] = _of(_read_twice(told, use="I4000001"), "contradicted_answer_carried")
    assert ((2, (3,)), (1, (3,))) == (
        (later.origin_step, later.dependent_steps),
        (earlier.origin_step, earlier.dependent_steps),
    )


def test_an_answer_that_a_write_or_the_user_came_before_contradicts_nothing(told: Told) -> None:
    assert [] == _of(_read_twice(told, CANCELLED), "contradicted_answer_carried")
    assert [] == _of(_read_twice(told, ("user", "I changed it just now")), "contradicted_answer_carried")
    assert [] == _of(_read_twice(told, ("call", "no_such_tool", {}, "done")), "contradicted_answer_carried")
    assert [] == _of(_read_twice(told, use="I9999999"), "contradicted_answer_carried")


def test_an_answer_changed_on_purpose_is_the_origin_where_its_value_was_used(told: Told) -> None:
    evidence = told(
        ("user", "order W1000001"),
        ("call", "get_order", {"order_id": "W1000001"}, {"item": "I4000001"}),
        ("call", "get_stock", {"item_id": "I4000001"}, "3"),
        failed=True,
    )
    assert [] == _of(evidence, "injected_answer_carried")
    steps = list(evidence.trial.trajectory.steps)
    seen = steps[1].observations[0].model_copy(update={"injected": "stale"})
    steps[1] = steps[1].model_copy(update={"observations": (seen,)})
    trajectory = evidence.trial.trajectory.model_copy(update={"steps": tuple(steps)})
    trial = evidence.trial.model_copy(update={"trajectory": trajectory})
    [one] = _of(evidence.model_copy(update={"trial": trial}), "injected_answer_carried")
    assert (1, (2,)) == (one.origin_step, one.dependent_steps)


@pytest.mark.parametrize("profile", [{"order": "W1000007"}, {"order_id": "W7654321"}])
def test_a_user_who_contradicts_the_profile_is_the_origin(told: Told, profile: dict[str, Any]) -> None:
    turns = [("user", "My order id is W1000001."), CANCELLED, ("agent", "W1000001 is cancelled.")]
    evidence = _with_profile(told(*turns, task="Cancel it.", failed=True), profile)
    [one] = _of(evidence, "contradicted_user_carried")
    assert (0, (1, 2)) == (one.origin_step, one.dependent_steps)
    assert "get_order(order_id)" in (one.prevention or "")
    first = suspects([one], evidence.trial.trajectory, success=False)[0]
    assert ("user", None) == (first.source, first.agent)


def test_a_user_who_says_what_the_profile_has_or_of_which_it_has_nothing_alike_misleads_nobody(told: Told) -> None:
    evidence = told(("user", "My order id is W1000001."), CANCELLED, task="Cancel it.", failed=True)
    for profile in ({"order_id": "W1000001"}, {"member": "W7654321"}, {"order_id": "KX-77"}):
        assert [] == _of(_with_profile(evidence, profile), "contradicted_user_carried")
    unused = told(("user", "My order id is W1000001."), task="Cancel it.", failed=True)
    assert [] == _of(_with_profile(unused, {"order": "W1000007"}), "contradicted_user_carried")


def test_a_cascade_says_which_tool_would_have_stopped_it(told: Told) -> None:
    turns = (
        ("user", "Please cancel my order W1000001."),
        ("call", "cancel_order", {"order_id": "W1000010", "reason": "none"}, "cancelled"),
        ("call", "update_order", {"order_id": "W1000010", "address": "Elm"}, "updated"),
    )
    evidence = told(*turns, failed=True)
    [one] = _of(evidence, "miscopied_value")
    assert one.prevention is not None
    assert "W1000001" in one.prevention or "w1000001" in one.prevention
    assert "get_order(order_id)" in one.prevention
    card = Scorecard(
        case_id="order",
        attempt=1,
        category="",
        difficulty="",
        outcome="finished",
        success=False,
        verdicts=evidence.verdicts,
        diagnoses=(one,),
        digest="",
    )
    lines = list(explained(evidence.trial, card))
    assert 2 == sum("prevention: copying" in line for line in lines)


def test_a_judges_finding_stands_by_its_confidence_among_the_rules(told: Told) -> None:
    evidence = told(("user", "x"), ("agent", "y"), CANCELLED, failed=True)
    rule = Diagnosis(
        failure="loop_trap", kind="repeated_call", origin_step=2, evidence="again", confidence=0.9, version="1"
    )
    judged = rule.model_copy(update={"kind": "judged", "origin_step": 1})

    def order(confidence: float) -> list[int]:
        sure = judged.model_copy(update={"confidence": confidence})
        return [one.step for one in suspects([rule, sure], evidence.trial.trajectory, success=False)]

    assert ([1, 2], [2, 1]) == (order(0.95), order(0.3))
    assert [1] == [one.step for one in suspects([judged], evidence.trial.trajectory, success=False)]
    assert () == findings(told(("user", "x")))[0]
