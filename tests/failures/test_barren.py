"""Calls that ask nearly what was asked before and bring nothing new, however they take turns."""

from collections.abc import Callable
from typing import Any

from harness.suite.tools import ToolSpec

Found = Callable[..., list[tuple[str, int | None]]]


def _tool(name: str) -> ToolSpec:
    return ToolSpec.model_validate(
        {"name": name, "effect": "write", "server": "s", "http": {"path": "/"}, "parameters": {"type": "object"}}
    )


TOOLS = [_tool("shell"), _tool("search")]


def _edit(n: int, answer: str = "File saved, tests still fail in parse_header at line 41.") -> tuple[Any, ...]:
    text = "edit parser.py: def parse_header(line): key, value = line.split(':', 1); return key.strip(), value.strip()"
    text += "".join(f"; print({one})" for one in range(n))
    return ("call", "shell", {"command": text}, answer)


LOOK = ("call", "search", {"query": "split header line parser"}, "parser.py defines parse_header and its caller")


def test_an_edit_that_only_grows_the_file_is_a_loop_where_it_first_repeats(found: Found) -> None:
    assert ("barren_calls", 1) in found(*(_edit(n) for n in range(6)), tools=TOOLS)


def test_two_threads_that_take_turns_do_not_hide_it(found: Found) -> None:
    turns = [one for n in range(6) for one in (_edit(n), ("call", "search", {"query": f"header {n % 2}"}, "none"))]
    [(kind, origin)] = [one for one in found(*turns, tools=TOOLS) if one[0] == "barren_calls"]
    assert ("barren_calls", 4) == (kind, origin)


def test_one_thing_asked_for_under_many_names_that_is_never_found_is_a_loop(found: Found) -> None:
    names = ("Zephyr Analytics", "Zephyr", "zephyr analytics", "contact Zephyr Analytics", "Analytics Zephyr", "ZEPHYR")
    nothing = '{"results": [], "total": 0}'
    asked = [("call", "search", {"query": name}, nothing) for name in names]
    assert ("barren_calls", 1) in found(*asked, tools=TOOLS)
    found_at_last = [*asked[:4], ("call", "search", {"query": "Zephyr Ltd"}, '{"results": [{"id": 7}], "total": 1}')]
    assert "barren_calls" not in dict(found(*found_at_last, *asked[4:], tools=TOOLS))
    others = ("Alder", "Birch", "Cedar", "Fir", "Hazel", "Larch")
    apart = (("call", "search", {"query": name}, nothing) for name in others)
    assert "barren_calls" not in dict(found(*apart, tools=TOOLS))


def test_answers_that_tell_something_new_are_progress(found: Found) -> None:
    told = ("key missing", "value missing", "colon missing", "header empty", "all passed", "coverage grew")
    assert [] == found(*(_edit(n, f"Ran it: {words} in section {words}") for n, words in enumerate(told)), tools=TOOLS)


def test_four_repeats_and_what_the_user_asks_again_are_no_loop(found: Found) -> None:
    assert [] == found(*(_edit(n) for n in range(5)), tools=TOOLS)
    asked = [one for n in range(6) for one in (("user", f"And now for branch {n}, please"), _edit(n))]
    assert [] == found(*asked, tools=TOOLS)


def test_four_reworded_searches_that_bring_the_same_hits_are_a_loop(found: Found) -> None:
    hits = (
        "1. Heat pumps in the Baltics 2. Energy of households 3. Forum",
        "2. Energy of households 1. Heat pumps in the Baltics 3. Forum",
    )
    words = (
        "heat pump share",
        "share of heat pumps",
        "heat pump households share",
        "heat pump share source",
        "share heat pump",
    )
    asked = [("call", "search", {"query": query}, hits[n % 2]) for n, query in enumerate(words)]
    assert ("barren_calls", 1) in found(*asked, tools=TOOLS)
    assert "barren_calls" not in dict(found(*asked[:4], tools=TOOLS))
