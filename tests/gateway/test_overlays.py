"""Fixture packs and faults lie over every tool mode; the cassette never knows of them."""

import time
from pathlib import Path

import pytest

from harness.suite.cases import Case, FaultSpec
from harness.suite.fixtures import Fixture, FixturePack
from harness.suite.suites import Suite
from harness.traces.projection import trajectory_from


def with_packs(suite: Suite, **packs: list[Fixture]) -> Suite:
    made = {name: FixturePack(name=name, fixtures=tuple(fixtures)) for name, fixtures in packs.items()}
    return suite.model_copy(update={"packs": made})


def faulty(case: Case, **fault: object) -> Case:
    return case.model_copy(update={"faults": (FaultSpec.model_validate(fault),)})


def observations(record) -> list:
    return [seen for step in trajectory_from(record.spans).steps for seen in step.observations]


@pytest.mark.parametrize("mode", ["sealed", "record", "replay"])
def test_a_fixture_answers_in_every_mode_and_reaches_no_service(run, shop, suite, case, tmp_path: Path, mode) -> None:
    fixed = with_packs(suite, history=[Fixture(tool="look", when={"q": "egg"}, answer={"found": ["the usual"]})])
    given = []
    record = run(
        mode,
        lambda agent: given.append(agent.call("look", q="egg")),
        suite=fixed.model_copy(update={"probes": ()}),
        case=case.model_copy(update={"fixtures": ("history",)}),
    )

    assert [(200, {"found": ["the usual"]})] == given
    assert {"fixture": 1} == record.tiers
    assert [] == shop.seen
    assert [] == list(tmp_path.rglob("*.yaml"))


def test_of_several_packs_the_later_wins_and_other_arguments_pass(run, suite, case) -> None:
    fixed = with_packs(
        suite,
        first=[Fixture(tool="look", answer=1), Fixture(tool="order", answer=2)],
        second=[Fixture(tool="look", when={"limit": 5}, answer=3), Fixture(tool="item", status=404, answer={"no": 1})],
    )
    given = []

    def play(agent) -> None:
        given.extend([agent.call("look", q="egg"), agent.call("look", q="egg", limit=1), agent.call("order")])
        given.append(agent.call("item", id="7"))

    run("replay", play, suite=fixed, case=case.model_copy(update={"fixtures": ("first", "second")}))

    # The default of `limit` is 5, and a call is what it is with its defaults.
    assert [(200, 3), (200, 1), (200, 2)] == given[:3]
    assert (404, {"no": 1}) == (given[3][0], given[3][1]["error"]["body"])


@pytest.mark.parametrize(
    ("fault", "status", "error"),
    [
        ({"kind": "http_status", "status": 503}, 502, "tool_unavailable"),
        ({"kind": "http_status", "status": 429}, 429, "tool_error"),
        ({"kind": "timeout"}, 504, "timeout"),
        ({"kind": "reset"}, 502, "reset"),
        ({"kind": "malformed"}, 502, "malformed_result"),
        ({"kind": "empty"}, 502, "malformed_result"),
    ],
)
def test_a_fault_strikes_once_is_marked_and_the_call_works_again(run, case, fault, status, error) -> None:
    given = []

    def play(agent) -> None:
        given.extend([agent.call("look", q="egg"), agent.call("look", q="egg")])

    record = run("sealed", play, case=faulty(case, tool="look", call=1, **fault))
    first, second = observations(record)

    assert [status, 200] == [code for code, _ in given]
    assert (error, fault["kind"]) == (first.error.type, first.injected)
    assert (None, None) == (second.error, second.injected)
    assert () == record.unfired_faults
    marked = [span.attributes.get("harness.injected") for span in record.spans if "look" in span.name]
    assert [True, None] == marked


def test_a_struck_write_reaches_neither_service_nor_state(run, shop, case) -> None:
    def play(agent) -> None:
        agent.call("add", item="egg")
        agent.call("add", item="egg")

    recorded = run("record", play, case=faulty(case, tool="add", call=1, kind="http_status", status=503))
    assert [{"item": "egg"}] == recorded.states["order"]["lines"]
    # The cassette was made without the fault: an agent that meets none plays it.
    replayed = run("replay", lambda agent: agent.call("add", item="egg"))
    assert ((), {"exact": 2}) == (replayed.misses, dict(replayed.tiers))


def test_too_many_requests_says_when_to_come_back(run, case) -> None:
    def play(agent) -> None:
        status, headers, _ = agent.ask_raw("POST", "/tools/look", {"q": "egg"})
        assert (429, "1") == (status, headers["retry-after"])

    run("sealed", play, case=faulty(case, tool="*", call=1, kind="http_status", status=429))


def test_a_field_is_missing(run, shop, case) -> None:
    shop.answer = (200, {}, b'{"a": [{"b": 1, "c": 2}]}')
    given = []
    run(
        "sealed",
        lambda agent: given.append(agent.call("answer")),
        case=faulty(case, tool="answer", call=1, kind="missing_field", at="/a/0/b"),
    )

    assert [(200, {"a": [{"c": 2}]})] == given


def test_a_slow_answer_is_the_whole_answer(run, case) -> None:
    took = []

    def play(agent) -> None:
        began = time.monotonic()
        assert (200, {"found": ["egg"]}) == agent.call("look", q="egg")
        took.append(time.monotonic() - began)

    run("sealed", play, case=faulty(case, tool="look", call=1, kind="latency", seconds=0.3))
    assert 0.3 <= took[0] < 30


def test_a_latency_past_the_tools_own_time_is_a_timeout(run, case) -> None:
    case = faulty(case, tool="slow", call=1, kind="latency", seconds=60)
    run("sealed", lambda agent: agent.call("slow")[0] == 504 or pytest.fail("no timeout"), case=case)


def test_a_fault_that_never_fired_is_told_and_the_probe_meets_none(run, case) -> None:
    record = run("sealed", lambda agent: None, case=faulty(case, tool="order", call=1, kind="timeout"))

    assert ("timeout at order, call 1",) == record.unfired_faults
    assert {"order": {"lines": []}} == dict(record.states)
