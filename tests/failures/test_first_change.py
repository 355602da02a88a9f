"""Where nothing tells what a failed run should have done, its first change is the place to look at first."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.failures.diagnose import findings
from harness.scoring.failures.ranking import Counted, Fitted, suspects

Told = Callable[..., Evidence]
LOOK = ("call", "get_order", {"order_id": "W1000001"}, {"id": "W1000001", "status": "open"})
MOVE = ("call", "update_order", {"order_id": "W1000001", "address": "12 Elm Street"}, "ok")
CANCEL = ("call", "cancel_order", {"order_id": "W1000001", "reason": "no longer needed"}, "ok")
ASKED = ("user", "Please move my order W1000001 to 12 Elm Street, and cancel it as no longer needed.")


def _named(evidence: Evidence) -> list[tuple[int, str]]:
    facts, hints = findings(evidence)
    assert "first_change" not in {one.kind for one in facts}
    ranked = suspects((*facts, *hints), evidence.trial.trajectory, success=evidence.success)
    return [(one.step, one.kind) for one in ranked if one.kind == "first_change"]


def test_the_first_change_of_a_failed_run_is_named_and_is_no_finding(told: Told) -> None:
    assert [(2, "first_change")] == _named(told(ASKED, LOOK, MOVE, CANCEL, ("agent", "Good bye."), failed=True))


@pytest.mark.parametrize(
    ("turns", "more"),
    [
        ((LOOK, MOVE), {"failed": False}),
        ((LOOK, MOVE), {"failed": True, "reference": [("update_order", MOVE[2])]}),
        ((LOOK, ("agent", "I cannot do that.")), {"failed": True}),
        ((LOOK, ("call", "update_order", MOVE[2], "not found", "not found")), {"failed": True}),
        ((LOOK, ("call", "shell", {"command": "make"}, "ok")), {"failed": True}),
    ],
    ids=["not known to have failed", "a reference tells", "no change", "a refused change", "a shell"],
)
def test_it_is_silent_where_it_tells_nothing(told: Told, turns: Any, more: dict[str, Any]) -> None:
    assert [] == _named(told(ASKED, *turns, **more))


def test_counts_stand_with_a_change_named_first_and_with_nothing_else(told: Told) -> None:
    evidence = told(ASKED, LOOK, MOVE, CANCEL, ("agent", "Good bye."), failed=True)
    facts, hints = findings(evidence)
    ranked = suspects((*facts, *hints), evidence.trial.trajectory, success=False)
    assert [True, *(False for _ in ranked[1:])] == [one.writes is not None for one in ranked]

    looping = told(ASKED, *[LOOK] * 6, failed=True)
    facts, hints = findings(looping)
    named = suspects((*facts, *hints), looping.trial.trajectory, success=False)
    assert [(None, None)] == [(one.probability, one.writes) for one in named]


def test_a_probability_is_stated_of_a_wrong_write(told: Told) -> None:
    reference = [("update_order", {"order_id": "W1000001", "address": "9 Oak Street"})]
    evidence = told(ASKED, LOOK, MOVE, failed=True, reference=reference)
    facts, hints = findings(evidence)
    first = suspects((*facts, *hints), evidence.trial.trajectory, success=False)[0]
    assert ("wrong_argument", True) == (first.kind, first.probability is not None)


def test_a_probability_needs_two_benchmarks_that_agree() -> None:
    one, alike, other = Counted(right=6, cases=8), Counted(right=7, cases=10), Counted(right=1, cases=40)
    assert 14 / 20 == Fitted(writes={"first_change": {"a": one, "b": alike}}).probability("first_change")
    assert Fitted(writes={"first_change": {"a": one, "b": other}}).probability("first_change") is None
    assert Fitted(writes={"first_change": {"a": one}}).probability("first_change") is None
    assert Fitted(writes={"first_change": {"a": one}}, without="b").probability("first_change") == 7 / 10
    assert Fitted().probability("first_change") is None
