"""Reads whose answers change though nothing was written: their last recorded answer does not answer a further call."""

import json

import pytest

from harness.suite.suites import Suite
from tests.gateway.test_volatile import with_tool


def asking(shop, times: int, said: list | None = None, body: dict | None = None):
    """Asks `answer` so many times; the clock that it reads goes on with every call."""

    def play(agent) -> None:
        for number in range(times):
            shop.answer = (200, {}, json.dumps({"now": number, "zone": "UTC", **(body or {})}).encode())
            status, answer = agent.call("answer")
            (said if said is not None else []).append((status, answer))

    return play


@pytest.fixture
def unprobed(suite: Suite) -> Suite:
    return suite.model_copy(update={"probes": ()})


def test_a_clock_that_is_asked_more_often_than_recorded_is_a_miss_that_says_what_to_declare(
    run, shop, unprobed: Suite
) -> None:
    run("record", asking(shop, 2), suite=unprobed)
    said: list = []

    record = run("replay", asking(shop, 3, said), suite=unprobed)

    assert {"exact": 2, "miss": 1} == record.tiers
    assert [0, 1] == [answer["now"] for _, answer in said[:2]]
    message = said[2][1]["error"]["message"]
    assert " /now" in message
    assert "`volatile` of answer" in message


def test_a_declared_volatile_value_is_given_again_and_counted_apart(run, shop, unprobed: Suite) -> None:
    run("record", asking(shop, 2), suite=unprobed)
    declared = with_tool(unprobed, "answer", volatile=("/now",))

    record = run("replay", asking(shop, 4), suite=declared)

    assert {"exact": 2, "volatile_reused": 2} == record.tiers


def test_what_is_declared_covers_nothing_else(run, shop, unprobed: Suite) -> None:
    run("record", asking(shop, 2), suite=unprobed)
    declared = with_tool(unprobed, "answer", volatile=("/zone",))

    assert {"exact": 2, "miss": 1} == run("replay", asking(shop, 3), suite=declared).tiers


def test_what_is_declared_may_stand_inside_of_a_json_text(run, shop, unprobed: Suite) -> None:
    """As in the answers of MCP servers."""
    times = iter(range(10))

    def play(agent) -> None:
        for _ in range(3):
            text = json.dumps({"now": next(times), "zone": "UTC"})
            shop.answer = (200, {}, json.dumps({"content": [{"type": "text", "text": text}]}).encode())
            agent.call("answer")

    run("record", play, suite=unprobed)
    declared = with_tool(unprobed, "answer", volatile=("/content/0/text/now",))
    other = with_tool(unprobed, "answer", volatile=("/content/0/text/zone",))

    assert {"exact": 3, "volatile_reused": 1} == run("replay", asking(shop, 4), suite=declared).tiers
    assert {"exact": 3, "miss": 1} == run("replay", asking(shop, 4), suite=other).tiers


def test_one_call_of_a_tool_tells_of_its_others(run, shop, unprobed: Suite) -> None:
    """What was asked twice in one state shows that the answer of another state cannot be given twice either."""

    def record(agent) -> None:
        asking(shop, 2)(agent)
        agent.call("add", item="egg")
        asking(shop, 1)(agent)

    def replay(agent) -> None:
        asking(shop, 1)(agent)
        agent.call("add", item="egg")
        asking(shop, 2)(agent)

    run("record", record, suite=unprobed)

    assert {"exact": 3, "miss": 1} == run("replay", replay, suite=unprobed).tiers


def test_an_answer_that_was_recorded_once_is_given_again_and_said_to_be_unproven(run, shop, unprobed: Suite) -> None:
    run("record", asking(shop, 1), suite=unprobed)

    record = run("replay", asking(shop, 3), suite=unprobed)

    assert {"exact": 1, "exact_reused": 2} == record.tiers


def test_an_answer_that_was_recorded_twice_alike_is_proven(run, shop, unprobed: Suite) -> None:
    def look(times: int):
        def play(agent) -> None:
            for _ in range(times):
                agent.call("look", q="egg")

        return play

    run("record", look(2), suite=unprobed)

    record = run("replay", look(4), suite=unprobed)

    assert {"exact": 2, "exact_reused": 2} == record.tiers


def test_a_clock_that_was_recorded_once_and_is_declared_volatile_is_counted_as_such(run, shop, unprobed: Suite) -> None:
    run("record", asking(shop, 1), suite=unprobed)
    declared = with_tool(unprobed, "answer", volatile=("/now",))

    record = run("replay", asking(shop, 2), suite=declared)

    assert {"exact": 1, "volatile_reused": 1} == record.tiers
