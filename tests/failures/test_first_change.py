"""Where nothing tells what a failed run should have done, its first change is the place to look at first."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.score.evidence import Evidence
from harness.score.failures import findings, suspects

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
