"""Expressions of a suite that never end on what an agent sends: it is told why, and others go on."""

import time
from typing import Any

import pytest

from harness.errors import OutOfTime
from harness.suite.conversations import Conversation
from harness.suite.suites import Suite
from harness.suite.tools import VolatilePart
from tests.gateway.conftest import parameters, tool

NESTED = r"^(a|a)+$"
HOSTILE = "a" * 60 + "!"


def _with(suite: Suite, schema: dict[str, Any], **more: Any) -> Suite:
    look = tool("look", "GET /items", query={"q": "q"}, parameters=schema, **more)
    return suite.model_copy(update={"tools": (look, *(one for one in suite.tools if one.name != "look")), "probes": ()})


def _q(**schema: Any) -> dict[str, Any]:
    return parameters(q={"type": "string", **schema})


SCHEMAS = [
    (_q(allOf=[{"pattern": "b"}, {"pattern": NESTED}]), {"q": HOSTILE}, "parameters.properties.q.allOf[1].pattern"),
    (
        {"type": "object", "properties": {"q": {}}, "patternProperties": {NESTED: {"type": "integer"}}},
        {"q": "egg", HOSTILE: "x"},
        "parameters.patternProperties",
    ),
]


@pytest.mark.parametrize(("schema", "arguments", "place"), SCHEMAS)
def test_arguments_that_a_schema_cannot_judge_are_not_called_invalid(
    run, shop, suite: Suite, schema: dict[str, Any], arguments: dict[str, Any], place: str
) -> None:
    told = []
    began = time.monotonic()
    run("live", lambda agent: told.append(agent.call("look", **arguments)), suite=_with(suite, schema))

    ((status, answer),) = told
    assert (502, "tool_unavailable") == (status, answer["error"]["type"])
    assert f"{place}: {NESTED!r}" in answer["error"]["message"]
    assert [] == shop.seen
    assert time.monotonic() - began < 20


def test_what_the_same_schema_can_judge_is_judged_as_ever(run, suite: Suite) -> None:
    told = []

    def play(agent) -> None:
        told.extend([agent.call("look", q="aaa"), agent.call("look", q="b" * 40), agent.call("look")])

    run("live", play, suite=_with(suite, _q(pattern=NESTED)))
    assert [(200, {"found": ["aaa"]}), (422, "invalid_arguments"), (422, "invalid_arguments")] == [
        (status, answer if status == 200 else answer["error"]["type"]) for status, answer in told
    ]
    assert told[1][1]["error"]["message"].index("$.q: ") < told[1][1]["error"]["message"].index(repr(NESTED))


def test_a_key_that_cannot_be_told_is_the_tools_failure(run, suite: Suite) -> None:
    volatile = _with(suite, _q(), ignore=(VolatilePart(at="/q", regex=NESTED),))
    told = []

    def play(agent) -> None:
        told.extend([agent.call("look", q="egg"), agent.call("look", q=HOSTILE)])

    run("record", play, suite=volatile)
    assert (200, {"found": ["egg"]}) == told[0]
    assert (502, "tool_unavailable") == (told[1][0], told[1][1]["error"]["type"])
    assert "tool 'look': ignore" in told[1][1]["error"]["message"]


def test_a_user_whose_condition_cannot_be_told_is_the_harness_failure(run, case, suite: Suite) -> None:
    turns = [{"when": {"contains": "never"}, "say": "no"}, {"when": {"regex": NESTED}, "say": "yes"}]
    talking = case.model_copy(update={"conversation": Conversation.model_validate({"turns": turns})})
    told = []

    def play(agent) -> None:
        agent.ask("GET", "/turn")
        agent.ask("POST", "/reply", {"message": HOSTILE})
        told.append(agent.ask("GET", "/turn"))

    began = time.monotonic()
    with pytest.raises(OutOfTime, match=r"conversation\.turns\[1\]\.when\.regex"):
        run("sealed", play, case=talking, suite=suite.model_copy(update={"probes": ()}))
    assert [(500, "harness_failed")] == [(status, answer["error"]["type"]) for status, answer in told]
    assert time.monotonic() - began < 20
