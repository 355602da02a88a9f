"""Loops behind running numbers, other calls, short queries and errors without a flag; and look-alikes that are none."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.suite.tools import ToolSpec

Found = Callable[..., list[tuple[str, int | None]]]


def _tool(name: str, effect: str = "read") -> ToolSpec:
    return ToolSpec.model_validate(
        {"name": name, "effect": effect, "server": "s", "http": {"path": "/"}, "parameters": {"type": "object"}}
    )


TOOLS = [_tool("search"), _tool("status"), _tool("read_file"), _tool("create", "write"), _tool("bash", "write")]


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
    assert [("repeated_call", 1)] == found(*_calls("search", {"query": "weather"}, answers), tools=TOOLS)


def test_a_count_that_falls_a_progress_and_what_a_write_made_are_news(found: Found) -> None:
    for key in ("items", "progress"):
        assert [] == found(*_calls("status", {"job": "j"}, [{key: 5 - n} for n in range(4)]), tools=TOOLS)
    made = [{"request_id": f"r{n}", "state": "made"} for n in range(3)]
    assert [] == found(*_calls("create", {"kind": "ticket"}, made), tools=TOOLS)


def test_a_read_that_is_made_again_between_others_is_a_loop_unless_something_changed(found: Found) -> None:
    again = ("call", "search", {"query": "a b c d"}, "nothing here")
    others = [("call", "read_file", {"path": f"f{n}"}, f"contents alpha{n} beta{n}") for n in range(4)]
    turns = [turn for other in others for turn in (again, other)]
    assert [("repeated_call", 2)] == found(*turns, tools=TOOLS)
    wrote = [("call", "create", {"kind": f"k{n}"}, f"made alpha{n}") for n in range(4)]
    assert [] == found(*[turn for write in wrote for turn in (again, write)], tools=TOOLS)
    said = [("user", f"And for the {n}th of May?") for n in range(4)]
    assert [] == found(*[turn for user in said for turn in (user, again)], tools=TOOLS)


def test_short_queries_are_reworded_too(found: Found) -> None:
    queries = ("best hotels in Paris", "top hotels in Paris", "nice hotels Paris", "good hotels in Paris")
    queries += ("great hotels in Paris", "finest hotels in Paris")
    turns = [("call", "search", {"query": query}, "Hotel A, Hotel B") for query in queries]
    assert [("barren_calls", 1)] == found(*turns, tools=TOOLS)


def test_an_error_without_a_flag_is_one_to_be_stuck_on(found: Found) -> None:
    broken = {"error": "the service is temporarily not available", "code": 503}
    turns = [("call", "search", {"query": query}, broken) for query in ("red", "blue", "green", "white", "black")]
    assert [("stuck_on_error", 1)] == found(*turns, tools=TOOLS)


def test_a_short_command_with_another_comment_or_layout_is_the_same(found: Found) -> None:
    commands = ("ls x", "ls  x", "ls x # again")
    turns = [("call", "bash", {"command": command}, "ls: cannot access x") for command in commands]
    assert [("repeated_call", 1)] == found(*turns, tools=TOOLS)
