"""A loop repeats without a change of state or observation; everything else that repeats is none."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.failures.loops import loops

Found = Callable[..., list[tuple[str, int | None]]]
STOCK = ("call", "get_stock", {"item_id": "lamp"}, "none left")
ORDER = ("call", "get_order", {"order_id": "W1000001"}, {"status": "open"})
FAILING = ("call", "run_tests", {}, "1 failed in 0.52s")


def test_the_same_call_with_the_same_answer_three_times_is_a_loop(found: Found) -> None:
    assert [("repeated_call", 1)] == found(STOCK, STOCK, STOCK)


def test_two_times_are_none(found: Found) -> None:
    assert [] == found(STOCK, STOCK)


@pytest.mark.parametrize("period", [2, 3, 4])
def test_cycles_of_up_to_four_calls_are_found_where_they_first_repeat(found: Found, period: int) -> None:
    cycle = [("call", "get_stock", {"item_id": f"lamp {n}"}, "none left") for n in range(period)]
    assert [("repeated_cycle", period + 1)] == found(ORDER, *cycle, *cycle, *cycle)


def test_a_cycle_of_five_is_no_equal_cycle_and_is_known_by_bringing_nothing_new(found: Found) -> None:
    cycle = [("call", "get_stock", {"item_id": f"lamp {n}"}, "none left") for n in range(5)]
    assert [("barren_calls", 5)] == found(*cycle, *cycle, *cycle)


def test_another_answer_is_a_change_of_state(found: Found) -> None:
    polls = [("call", "get_order", {"order_id": "W1000001"}, {"progress": n}) for n in range(5)]
    assert [] == found(*polls)


def test_running_a_test_again_after_each_edit_is_no_loop(found: Found) -> None:
    edits = [("call", "edit_file", {"text": f"attempt {n}"}, "written") for n in range(4)]
    assert [] == found(*[turn for edit in edits for turn in (edit, FAILING)])


def test_durations_and_clock_times_do_not_hide_a_loop(found: Found) -> None:
    runs = [("call", "run_tests", {}, f"1 failed in 0.{n}1s at 2024-05-01 10:00:0{n}") for n in range(3)]
    assert [("repeated_call", 1)] == found(*runs)


def test_comments_and_waits_do_not_hide_a_loop(found: Found) -> None:
    code = "import robot\n# {0}\nrobot.click(10, 20)\ntime.sleep({1})  # {0}\n"
    clicks = [("call", "edit_file", {"text": code.format(f"try {n}", n)}, "nothing happened") for n in range(3)]
    assert [("repeated_call", 1)] == found(*clicks)


def test_other_numbers_are_other_calls(found: Found) -> None:
    code = "import robot\nrobot.click({0}, 20)  # the button in the middle of the page\n"
    assert [] == found(*[("call", "edit_file", {"text": code.format(n)}, "nothing happened") for n in range(4)])


def test_a_page_with_a_changing_advertisement_is_the_same_page(found: Found) -> None:
    page = " ".join(f"word{n}" for n in range(600))
    looks = [("call", "get_stock", {"item_id": "lamp"}, f"{page} advertisement {n}") for n in range(3)]
    assert [("repeated_call", 1)] == found(*looks)


@pytest.mark.parametrize(("length", "changed", "times"), [(2000, 2, 1), (2000, 3, 0), (1999, 2, 0)])
def test_a_page_has_2000_characters_of_which_a_twentieth_of_the_words_may_change(
    told: Callable[..., Evidence], length: int, changed: int, times: int
) -> None:
    """Of 100 words two changed ones leave 98 of 102 in common, which is 96 %, and three 97 of 103, which is 94 %."""

    def look(turn: int) -> tuple[Any, ...]:
        words = [f"{'turn' if n < changed else 'same'}{turn if n < changed else 0}word{n:010}" for n in range(100)]
        page = " ".join(words)[: length - 2]
        assert length == len(json.dumps(page))
        return ("call", "get_stock", {"item_id": "lamp"}, page)

    assert times == len(loops(told(look(1), look(2), look(3))))


@pytest.mark.parametrize(("length", "times"), [(39, 0), (40, 1)])
def test_a_comment_counts_as_one_in_a_text_of_40_characters(
    told: Callable[..., Evidence], length: int, times: int
) -> None:
    """A shorter text may name the order `# 1`."""
    texts = [f"{'print(3)':{length - 4}} # {turn}" for turn in range(3)]
    assert times == len(loops(told(*(("call", "edit_file", {"text": text}, "ok") for text in texts))))


def test_what_a_user_says_in_between_breaks_a_loop(found: Found) -> None:
    assert [] == found(STOCK, ("user", "and now?"), STOCK, ("user", "and again?"), STOCK, ("user", "now?"))


def test_repeats_that_the_reference_asks_for_are_none(found: Found) -> None:
    add = ("call", "edit_file", {"text": "add a burger"}, "ok")
    reference = [("edit_file", {"text": "add a burger"})] * 3
    assert [] == found(add, add, add, reference=reference)
    assert [("repeated_call", 1)] == found(add, add, add, reference=reference[:1])


def test_a_write_that_answers_alike_is_less_sure_than_a_read(diagnosed: Callable[..., Any]) -> None:
    write = ("call", "edit_file", {"text": "x"}, "ok")
    assert [0.75] == [one.confidence for one in diagnosed(write, write, write)]
    assert [0.95] == [one.confidence for one in diagnosed(STOCK, STOCK, STOCK)]


def test_calls_whose_answers_are_not_recorded_count_at_less_confidence(diagnosed: Callable[..., Any]) -> None:
    blind = ("call", "get_stock", {"item_id": "lamp"})
    assert [("repeated_call", 0.6)] == [(one.kind, one.confidence) for one in diagnosed(blind, blind, blind)]


def test_a_long_run_of_different_calls_is_no_loop(found: Found) -> None:
    assert [] == found(*[("call", "get_stock", {"item_id": f"lamp {n}"}, "none left") for n in range(300)])


def test_equal_calls_of_one_reply_are_no_loop(told: Callable[..., Evidence]) -> None:
    evidence = told(("user", "Do it."), *[("call", "run_tests", {})] * 3)
    steps = evidence.trial.trajectory.steps
    calls = tuple(call for step in steps for call in step.calls)
    one_reply = (steps[0], steps[1].model_copy(update={"calls": calls}))
    trajectory = evidence.trial.trajectory.model_copy(update={"steps": one_reply})
    trial = evidence.trial.model_copy(update={"trajectory": trajectory})
    assert 1 == len(loops(evidence))
    assert () == loops(Evidence(case=evidence.case, trial=trial, tools=evidence.tools))
