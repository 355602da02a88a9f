"""Goal drift, premature commitment, cascading errors: told apart by where a value came from and what became of it."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.failures.diagnose import diagnose, findings

Found = Callable[..., list[tuple[str, int | None]]]
ORDER = ("call", "get_order", {"order_id": "W1000001"}, {"id": "W1000001", "item": "L-4417", "status": "open"})
CANCEL = ("call", "cancel_order", {"order_id": "W1000001", "reason": "asked"}, {"status": "cancelled"})
STRANGER = ("call", "get_order", {"order_id": "W7384921"}, {"id": "W7384921", "customer": "noah_muller_9847"})


def test_working_on_a_strangers_case_is_goal_drift(diagnosed: Callable[..., Any]) -> None:
    (one,) = diagnosed(ORDER, STRANGER, ("call", "find_customer", {"email": "noah_muller_9847"}, "found"), CANCEL)
    assert ("goal_drift", "foreign_task", 1, (2,)) == (one.failure, one.kind, one.origin_step, one.dependent_steps)


def test_one_stray_look_is_no_drift(found: Found) -> None:
    assert [] == found(ORDER, STRANGER, CANCEL)


def test_what_the_user_brings_up_is_no_drift(found: Found) -> None:
    more = ("call", "find_customer", {"email": "noah_muller_9847"}, "found")
    assert [] == found(ORDER, ("user", "also look at W7384921"), STRANGER, more, CANCEL)


def test_a_plan_that_has_nothing_of_the_task_is_goal_drift(found: Found) -> None:
    plan = "## Task description\nDebug the failing interpreter and print a stack trace of unknown languages."
    task = "How many visitors came to the museum between April and October according to its annual report?"
    assert [("plan_for_another_task", 0)] == found(("agent", plan), task=task)
    assert [] == found(("agent", f"## Task description\n{task}"), task=task)


def test_a_guessed_identifier_is_premature(found: Found) -> None:
    guess = ("call", "find_customer", {"email": "ann_example_5512"}, None, "no such customer")
    assert [("guessed_argument", 0)] == found(guess, ("user", "my mail is a@b.example"))


def test_an_example_from_a_description_is_a_guess_too(found: Found) -> None:
    write = ("call", "cancel_order", {"order_id": "W5550000", "reason": "x"}, "ok")
    assert ("guessed_argument", 1) in found(ORDER, write)


def test_a_write_to_what_no_answer_had_shown_is_premature(found: Found) -> None:
    assert [("unseen_target", 0)] == found(CANCEL)
    assert [] == found(ORDER, CANCEL)


def test_stopping_before_the_write_that_the_reference_makes_is_premature(found: Found) -> None:
    reference = [("get_order", {"order_id": "W1000001"}), ("cancel_order", {"order_id": "W1000001"})]
    assert [("stopped_early", 1)] == found(ORDER, ("agent", "All is well, good bye."), reference=reference)
    assert [] == found(ORDER, CANCEL, reference=reference)


def test_skipping_every_read_of_the_reference_is_premature(found: Found) -> None:
    reference = [("get_stock", {"item_id": "lamp"}), ("edit_file", {"text": "buy"})]
    assert [("missing_reads", 0)] == found(("call", "edit_file", {"text": "buy"}, "ok"), reference=reference)


def test_an_irreversible_write_that_the_reference_does_not_make_is_premature(found: Found) -> None:
    reference = [("get_order", {"order_id": "W1000001"})]
    assert [("unwarranted_write", 1)] == found(ORDER, CANCEL, reference=reference)
    change = ("call", "update_order", {"order_id": "W1000001", "address": "here"}, "ok")
    assert [] == found(ORDER, change, reference=reference)


def test_a_miscopied_identifier_that_is_carried_on_is_a_cascading_error(diagnosed: Callable[..., Any]) -> None:
    wrong = ("call", "get_stock", {"item_id": "L-4471"}, {"id": "L-4471", "left": 3})
    found = diagnosed(ORDER, wrong, ("user", "and?"), ("agent", "There are 3 of L-4471."))
    (one,) = [finding for finding in found if finding.failure == "cascading_error"]
    assert ("miscopied_value", 1, (3,)) == (one.kind, one.origin_step, one.dependent_steps)


@pytest.mark.parametrize("wrong", ["545-123-0002", "505-123-2002", "555-123-2020", "W1001001"])
def test_a_wrong_character_in_any_part_of_a_value_is_a_slip_of_the_pen(found: Found, wrong: str) -> None:
    asked = ("user", "my number is 555-123-2002, my order 1000001")
    look = ("call", "find_customer", {"email": wrong}, f"{wrong} is a customer")
    assert [("miscopied_value", 1)] == found(asked, look, ("agent", f"I see {wrong}."), task="Please help me.")


def test_another_number_altogether_is_no_slip(found: Found) -> None:
    asked = ("user", "my number is 555-123-2002")
    look = ("call", "find_customer", {"email": "761-908-4417"}, "761-908-4417 is a customer")
    assert [] == found(asked, look, ("agent", "I see 761-908-4417."), task="Please help me.")


def test_a_slip_that_nothing_rests_on_is_no_cascade(found: Found) -> None:
    slip = ("call", "get_stock", {"item_id": "L-4471"}, None, "no such item")
    right = ("call", "get_stock", {"item_id": "L-4417"}, {"left": 3})
    assert [("guessed_argument", 1)] == found(ORDER, slip, right)


def test_computed_amounts_and_dates_are_never_strange(found: Found) -> None:
    look = ("call", "get_stock", {"item_id": "2024-06-11"}, "none left")
    assert [] == found(ORDER, look, ("call", "edit_file", {"text": "1204.50"}, "ok"))


def test_a_failed_trial_without_a_known_mode_is_other(diagnosed: Callable[..., Any]) -> None:
    (one,) = diagnosed(ORDER, CANCEL, failed=True)
    assert ("other", None, "state: the order still stands") == (one.failure, one.origin_step, one.evidence)


def test_a_trial_without_a_verdict_and_without_a_finding_has_no_diagnosis(found: Found) -> None:
    assert [] == found(ORDER, CANCEL)


def test_several_failures_stand_side_by_side_in_the_order_of_their_origins(found: Found) -> None:
    stock = ("call", "get_stock", {"item_id": "lamp"}, "none left")
    assert [("repeated_call", 1), ("invented_tool", 3)] == found(stock, stock, stock, ("call", "teleport", {}, "ok"))


def test_a_failed_conversation_hints_at_the_message_that_made_data_up(found: Found, hinted: Found) -> None:
    task = "How many visitors came to the museum between April and October according to its annual report?"
    opening = ("agent", f"Task description: {task}")
    turns = [opening, ("agent", "Let us assume a typical year: 40,000."), ("agent", "So the answer is 40,000.")]
    assert [("assumed_data", 1)] == hinted(*turns, task=task, failed=True)
    assert [("failed_without_a_known_mode", None)] == found(*turns, task=task, failed=True)
    assert [] == found(*turns, task=task) == hinted(*turns, task=task)


def test_a_failed_conversation_hints_at_the_code_that_failed_first(hinted: Found) -> None:
    turns = [
        ("agent", "I ask the archive."),
        ("agent", "```python\nload()\n```"),
        ("system", "exitcode: 1 (execution failed)\nTraceback"),
        ("agent", "Again the same way."),
    ]
    assert [("failed_code_carried", 1)] == hinted(*turns, failed=True)


def test_a_failed_conversation_without_a_mark_hints_at_the_first_answer(told: Callable[..., Any]) -> None:
    turns = [("agent", "Who won?"), ("agent", "It was Ann."), ("agent", "Ann it is."), ("agent", "Done.")]
    alone = told(*turns, failed=True)
    names = ("chair", "expert", "checker", "chair")
    steps = [
        step.model_copy(update={"agent": name}) for step, name in zip(alone.trial.trajectory.steps, names, strict=True)
    ]
    talk = alone.trial.trajectory.model_copy(update={"steps": tuple(steps)})
    together = alone.model_copy(update={"trial": alone.trial.model_copy(update={"trajectory": talk})})

    (one,) = findings(together)[1]
    assert ("first_answer_carried", 1, (2, 3)) == (one.kind, one.origin_step, one.dependent_steps)
    assert one.confidence < 0.5
    assert ["failed_without_a_known_mode"] == [one.kind for one in diagnose(alone)]
