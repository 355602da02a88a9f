"""A loop repeats without a change of state or observation; everything else that repeats is none."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.findings.loops import loops
from harness.suite.tools import ToolSpec

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
    assert [("repeated_call", period + 1)] == found(ORDER, *cycle, *cycle, *cycle)


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


def test_calls_whose_answers_are_not_recorded_count_by_themselves(found: Found) -> None:
    assert [("repeated_call", 1)] == found(*[("call", "get_stock", {"item_id": "lamp"})] * 3)


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


def _tool(name: str, effect: str = "read") -> ToolSpec:
    return ToolSpec.model_validate(
        {"name": name, "effect": effect, "server": "s", "http": {"path": "/"}, "parameters": {"type": "object"}}
    )


SEARCHES = [_tool("search"), _tool("status"), _tool("read_file"), _tool("create", "write"), _tool("bash", "write")]


def _calls(name: str, arguments: dict[str, Any], answers: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [("call", name, arguments, answer) for answer in answers]


@pytest.mark.parametrize(
    "answers",
    [
        [f"[request {n}] Sunny, 20 degrees" for n in range(3)],
        [{"request_id": f"req_{n}8f2a", "result": "Sunny"} for n in range(3)],
        [{"ts": 1_700_000_000 + 17 * n, "result": "Sunny"} for n in range(3)],
        [{"trace": f"3f2a9c1{n}-aaaa-4bbb-8ccc-1234567890a{n}", "result": "Sunny"} for n in range(3)],
        [{"took_ms": 12 + n, "result": "Sunny"} for n in range(3)],
        [{"SpanId": f"s{n}", "result": "Sunny"} for n in range(3)],
        [f"REQUEST NO. {n} - Sunny" for n in range(3)],
        [f'{{"responseid": "r{n}", "result": "Sunny"}}' for n in range(3)],
        [f"Sunny at 12:30:0{n}, 0x{n}f3a, in {n}.5 seconds" for n in range(3)],
    ],
)
def test_an_answer_is_the_same_whatever_number_its_request_has(found: Found, answers: Sequence[Any]) -> None:
    assert [("repeated_call", 1)] == found(*_calls("search", {"query": "weather"}, answers), tools=SEARCHES)


def test_a_count_that_falls_a_progress_and_what_a_write_made_are_news(found: Found) -> None:
    for key in ("items", "progress"):
        assert [] == found(*_calls("status", {"job": "j"}, [{key: 5 - n} for n in range(4)]), tools=SEARCHES)
    made = [{"request_id": f"r{n}", "state": "made"} for n in range(3)]
    assert [] == found(*_calls("create", {"kind": "ticket"}, made), tools=SEARCHES)


def test_a_read_that_is_made_again_between_others_is_a_loop_unless_something_changed(found: Found) -> None:
    again = ("call", "search", {"query": "a b c d"}, "nothing here")
    others = [("call", "read_file", {"path": f"f{n}"}, f"contents alpha{n} beta{n}") for n in range(4)]
    turns = [turn for other in others for turn in (again, other)]
    assert [("repeated_call", 2)] == found(*turns, tools=SEARCHES)
    wrote = [("call", "create", {"kind": f"k{n}"}, f"made alpha{n}") for n in range(4)]
    assert [] == found(*[turn for write in wrote for turn in (again, write)], tools=SEARCHES)
    said = [("user", f"And for the {n}th of May?") for n in range(4)]
    assert [] == found(*[turn for user in said for turn in (user, again)], tools=SEARCHES)


def test_an_object_that_is_read_four_times_between_others_is_a_loop(found: Found) -> None:
    again = ("call", "get_order", {"order_id": "W1000001"}, {"id": "W1000001", "status": "sent"})
    others = [("call", "get_stock", {"item_id": f"lamp-{n}"}, {"left": n}) for n in range(4)]
    assert [("repeated_call", 2)] == found(*[turn for other in others for turn in (again, other)])


REWORDED = (
    "best hotels in Paris",
    "Paris best hotels",
    "hotels Paris top",
    "in Paris good hotels",
    "hotels in the Paris",
)


@pytest.mark.parametrize("asked", [lambda one: {"query": one}, lambda one: {"n": 3, "query_list": [one, one.upper()]}])
def test_a_query_in_other_words_that_tells_nothing_new_is_a_loop_in_whatever_argument(
    found: Found, asked: Callable[[str], dict[str, Any]]
) -> None:
    answers = ("Hotel A, Hotel B", "B Hotel, A Hotel", "Hotel A", "Hotel B, Hotel A", "hotel a b")
    turns = [("call", "search", asked(one), answer) for one, answer in zip(REWORDED, answers, strict=True)]
    assert [("repeated_call", 1)] == found(*turns, tools=SEARCHES)
    news = [("call", "search", asked(one), f"Hotel {one[::-1]}") for one in REWORDED]
    assert [] == found(*news, tools=SEARCHES)


@pytest.mark.parametrize(
    "arguments",
    [
        [{"origin": "POR", "day": f"2024-05-{day:02}"} for day in range(1, 13)],
        [{"query": f"flights from Port to Hill on day {day}"} for day in range(1, 13)],
        [
            {"query": f"the population of {city} in Italy"}
            for city in ("Rome", "Milan", "Turin", "Pisa", "Genoa", "Bari")
        ],
        [{"raw": f'search_dir "class Product" {"../" * up}src'} for up in range(5)],
    ],
)
def test_a_sweep_asks_for_something_else_each_time(found: Found, arguments: list[dict[str, Any]]) -> None:
    assert [] == found(*[("call", "search", one, "No results were found.") for one in arguments], tools=SEARCHES)


def test_notes_that_are_taken_tell_nothing_and_are_no_loop(found: Found) -> None:
    note = ("I should ask the user for the order", "I should ask for the order of the user", "the user should tell me")
    turns = [("call", "search", {"thought": one}, "noted") for one in (*note, "should I ask the user for the order")]
    assert [] == found(("call", "status", {}, "noted"), *turns, tools=SEARCHES)


BROKEN = {"error": "the service is temporarily not available", "code": 503}
NO_MATCH = "<returncode>1</returncode>\n<output>\n</output>"


@pytest.mark.parametrize(
    ("turns", "origin"),
    [
        ([("call", "search", {"query": one}, BROKEN) for one in ("red", "blue", "green", "white", "black")], 1),
        ([("call", "search", {"query": "red"}, BROKEN)] * 2, 1),
        (
            [
                ("call", "search", {"query": "red"}, BROKEN),
                ("user", "try again"),
                ("call", "search", {"query": "red"}, BROKEN),
            ],
            None,
        ),
        ([("call", "search", {"query": one}, BROKEN) for one in ("red", "blue", "green")], None),
        ([("call", "bash", {"command": f"grep {one} page"}, None, NO_MATCH) for one in "abcdef"], None),
    ],
)
def test_an_error_is_met_again_by_an_equal_call_or_by_five_of_one_tool(
    found: Found, turns: list[tuple[Any, ...]], origin: int | None
) -> None:
    kinds = [one for one in found(*turns, tools=SEARCHES) if one[0] == "unchanged_retry"]
    assert ([] if origin is None else [("unchanged_retry", origin)]) == kinds


def test_a_failed_call_made_again_after_a_write_is_no_unchanged_retry(found: Found) -> None:
    test, edit = (
        ("call", "run_tests", {}, None, "1 test failed in main"),
        ("call", "edit_file", {"text": "x"}, "written"),
    )
    assert [] == found(test, edit, test, edit, test)


def test_a_short_command_with_another_comment_or_layout_is_the_same(found: Found) -> None:
    commands = ("ls x", "ls  x", "ls x # again")
    turns = [("call", "bash", {"command": command}, "ls: cannot access x") for command in commands]
    assert [("repeated_call", 1)] == found(*turns, tools=SEARCHES)
