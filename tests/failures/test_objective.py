"""Goals that calls leave out from some step on: the shares of words at which they count."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.scoring.evidence import Evidence, Verdict
from harness.scoring.failures.diagnose import findings

Told = Callable[..., Evidence]
GOAL = ["alpha", "bravo", "charlie", "delta", "echoes", "foxtrot", "golfing", "hotel", "india", "juliet"]
TASK = " ".join([*GOAL, "a", "of", "the"])
"""Ten words of four letters and more; the others are no words of the goal."""


def asked(words: Sequence[str], tool: str = "edit_file") -> tuple[Any, ...]:
    return ("call", tool, {"text": " ".join(words)}, "ok")


def drift(evidence: Evidence) -> list[tuple[str, int | None, tuple[int, ...]]]:
    facts, hints = findings(evidence)
    kinds = ("goal_left_out", "objective_switched")
    return [(one.kind, one.origin_step, one.dependent_steps) for one in (*facts, *hints) if one.kind in kinds]


@pytest.mark.parametrize(
    ("of_goal", "others", "kinds"),
    [
        (8, 0, []),
        (7, 0, ["goal_left_out"]),
        (5, 39, ["goal_left_out"]),
        (5, 40, ["goal_left_out", "objective_switched"]),
        (6, 60, ["goal_left_out"]),
        (0, 2, ["goal_left_out", "objective_switched"]),
    ],
)
def test_a_goal_is_left_out_by_seven_tenths_and_switched_by_a_half_with_a_tenth_of_the_words_in_common(
    told: Told, of_goal: int, others: int, kinds: list[str]
) -> None:
    last = asked([*GOAL[:of_goal], *(f"other{n}" for n in range(others))])
    found = drift(told(asked(GOAL), asked(["middle", "words"]), last, task=TASK))
    assert [(kind, 2, ()) for kind in kinds] == found


def test_thirds_are_of_the_calls_with_several_words(told: Told) -> None:
    """Of seven such calls the first two and the last two are held against each other."""
    first, last = [asked(GOAL[:5]), asked(GOAL[5:])], [asked(["other", "words"])] * 2
    middle = [asked(["nothing", "here"])] * 3
    short = ("call", "get_stock", {"item_id": "lamp"}, "none")
    found = drift(told(*first, short, *middle, *last, short, task=TASK))
    assert {("goal_left_out", 6, (7,)), ("objective_switched", 6, (7,))} == set(found)
    assert [] == drift(told(*first[:1], short, *last[:1], task=TASK))


def test_nothing_is_left_out_that_was_never_asked_for_and_a_success_left_nothing_out(told: Told) -> None:
    never = [asked(["some", "thing"]), asked(["other", "thing"]), asked(["last", "thing"])]
    assert [] == drift(told(*never, task=TASK))
    assert [] == drift(told(asked(GOAL), *never[1:], task="do it"))
    evidence = told(asked(GOAL), *never[1:], task=TASK)
    assert 2 == len(drift(evidence))
    passed = Verdict(check="state", verifier="state", version="1", passed=True, reason="right")
    assert [] == drift(evidence.model_copy(update={"verdicts": (passed,)}))


LAST = ("agent", "Here are " + " ".join(f"word{n}" for n in range(24)) + " alpha bravo charlie")


def off_goal(evidence: Evidence) -> list[tuple[str, int | None]]:
    _, hints = findings(evidence)
    return [(one.kind, one.origin_step) for one in hints if one.kind == "answer_off_goal"]


def test_an_answer_in_other_words_after_calls_that_lost_the_goal_is_a_hint(told: Told) -> None:
    calls = (asked(GOAL[:4]), asked(["other"]), asked(["things"]), asked(GOAL[:2]))
    assert [("answer_off_goal", 2)] == off_goal(told(*calls, LAST, task=TASK))
    answered = ("agent", f"{LAST[1]} delta")
    assert [] == off_goal(told(*calls, answered, task=TASK))
    assert [] == off_goal(told(*reversed(calls), LAST, task=TASK))
    assert [] == off_goal(told(*calls[1:], LAST, task=TASK))
    assert [] == off_goal(told(*calls, ("agent", "Nothing was found."), task=TASK))
    said = (("user", "Go on."), ("user", "And now for something else."))
    assert [] == off_goal(told(*said, *calls, LAST, task=TASK))
