"""What differs from the reference is named, with argument, expected and found; and how the trial ended."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.findings.facts import FACTS, diagnose, suspects
from harness.scoring.scorecard import MODES
from harness.suite.tools import ToolSpec

Diagnosed = Callable[..., Any]
EFFECTS = {"get_order": "read", "update_order": "write", "update_items": "write", "transfer_to_human": "write"}
TOOLS = [
    ToolSpec.model_validate(
        {"name": name, "effect": effect, "server": "s", "http": {"path": "/"}, "parameters": {"type": "object"}}
    )
    for name, effect in EFFECTS.items()
]
ORDER: dict[str, Any] = {"order_id": "W1000001"}
LOOK = ("call", "get_order", ORDER, {"id": "W1000001", "other": "W2000002"})
WANTED = ("update_order", {**ORDER, "address": "here"})
ITEMS = ("update_items", {**ORDER, "items": ["lamp"]})
BYE = ("agent", "Good bye.")


def _made(call: tuple[str, dict[str, Any]], *answer: Any, **changed: Any) -> tuple[Any, ...]:
    return ("call", call[0], {**call[1], **changed}, *(answer or ("ok",)))


@pytest.mark.parametrize(
    ("turns", "reference", "facts"),
    [
        ([_made(WANTED, address="there")], [WANTED], [("premature_commitment", "wrong_write", 1)]),
        ([_made(WANTED, order_id="W2000002")], [WANTED], [("premature_commitment", "wrong_write", 1)]),
        ([_made(WANTED), _made(ITEMS)], [WANTED], [("goal_drift", "needless_write", 2)]),
        ([_made(WANTED), BYE], [WANTED, ITEMS], [("premature_commitment", "missing_write", 2)]),
        ([_made(WANTED, None, "busy"), BYE], [ITEMS], [("premature_commitment", "missing_write", 2)]),
        (
            [_made(WANTED), _made(ITEMS, None, "not now", order_id="W2000002")],
            [WANTED, ITEMS],
            [("premature_commitment", "missing_write", 2)],
        ),
        (
            [_made(WANTED, address="there"), _made(ITEMS, None, "the order is locked"), BYE],
            [ITEMS],
            [("cascading_error", "missing_write", 1), ("goal_drift", "needless_write", 1)],
        ),
        (
            [("call", "transfer_to_human", {}, "ok"), BYE],
            [WANTED],
            [("premature_commitment", "handed_over", 1)],
        ),
        ([_made(WANTED), BYE], [WANTED], [("other", "unexplained", 1)]),
        ([BYE], [("get_order", ORDER), ("get_stock", {})], [("premature_commitment", "stopped_early", 1)]),
    ],
)
def test_how_the_writes_differ_from_the_references(
    diagnosed: Diagnosed, turns: list[Any], reference: list[Any], facts: list[Any]
) -> None:
    found = diagnosed(LOOK, *turns, reference=reference, tools=TOOLS, failed=True)
    assert facts == [(one.failure, one.kind, one.origin_step) for one in found]


def test_the_argument_is_told_with_what_was_expected_and_found(diagnosed: Diagnosed) -> None:
    [one] = diagnosed(LOOK, _made(WANTED, address="there"), reference=[WANTED], tools=TOOLS, failed=True)
    assert 'address: expected "here", found "there"' in one.evidence


def test_an_order_that_the_reference_does_not_allow_is_a_wrong_write(told: Callable[..., Evidence]) -> None:
    evidence = told(LOOK, _made(ITEMS), _made(WANTED), reference=[WANTED, ITEMS], tools=TOOLS, failed=True)
    first, second = evidence.case.reference or ()
    case = evidence.case.model_copy(update={"reference": (first, second.model_copy(update={"after": (first.id,)}))})
    found = diagnose(evidence.model_copy(update={"case": case}))
    assert [("wrong_write", 1)] == [(one.kind, one.origin_step) for one in found]


def test_another_way_than_the_references_is_no_failure_of_a_trial_that_is_not_known_to_have_failed(
    diagnosed: Diagnosed,
) -> None:
    assert () == diagnosed(LOOK, _made(WANTED, address="there"), reference=[WANTED], tools=TOOLS)


def test_a_limit_and_a_required_tool_that_was_not_called(told: Callable[..., Evidence]) -> None:
    evidence = told(LOOK, BYE, tools=TOOLS, failed=True)
    case = evidence.case.model_copy(update={"required_tools": ("update_order",)})
    [one] = diagnose(evidence.model_copy(update={"case": case}))
    assert ("stopped_early", 1) == (one.kind, one.origin_step)
    trial = evidence.trial.model_copy(update={"outcome": "limit_reached", "reason": "40 steps"})
    [one] = diagnose(evidence.model_copy(update={"trial": trial}))
    assert ("goal_drift", "limit_reached", "40 steps") == (one.failure, one.kind, one.evidence)


@pytest.mark.parametrize(
    "said",
    [
        "I need to simulate a scenario and mock the response of the questioner.",
        "Rationale:\n- it grows\n\nObservation:\n- we are close to the target",
        "I am sorry, but I cannot share that text.",
        "I have cancelled your order, as my research shows.",
    ],
)
def test_no_wording_of_an_agent_makes_a_fact(diagnosed: Diagnosed, said: str) -> None:
    assert () == diagnosed(("user", "Please help."), LOOK, ("agent", said), tools=TOOLS)


def test_the_step_that_is_named_first_is_a_cause_before_an_end_and_the_earlier_of_equals(
    told: Callable[..., Evidence],
) -> None:
    turns = (LOOK, LOOK, LOOK, _made(WANTED, address="x"), _made(ITEMS, items=["b"]), BYE)
    evidence = told(*turns, reference=[WANTED], tools=TOOLS, failed=True)
    found, trajectory = diagnose(evidence), evidence.trial.trajectory
    named = suspects(found, trajectory, success=False)
    assert [(3, "wrong_write"), (4, "needless_write"), (1, "repeated_call")] == [(one.step, one.kind) for one in named]
    assert {"agent"} == {one.source for one in named}
    assert () == suspects(found, trajectory, success=True)


def test_every_kind_belongs_to_a_mode_and_each_mode_has_one() -> None:
    assert len(FACTS) <= 15
    assert MODES == {mode for one in FACTS.values() for mode in one.modes}
