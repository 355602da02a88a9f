"""Arguments that are volatile by rule, and ids that tools generate in a run."""

import json
from pathlib import Path

from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec, VolatilePart
from harness.traces.projection import trajectory_from


def with_tool(suite: Suite, name: str, **changes: object) -> Suite:
    tools = tuple(
        ToolSpec.model_validate({**tool.model_dump(), **changes}) if tool.name == name else tool for tool in suite.tools
    )
    return suite.model_copy(update={"tools": tools})


def test_volatile_parts_are_left_out_by_pointer_and_by_pattern(run, suite: Suite) -> None:
    volatile = with_tool(
        suite,
        "add",
        parameters={"type": "object", "properties": {"item": {}, "meta": {}, "lines": {}}},
        ignore=("/meta/request_id", "/lines/*/at", VolatilePart(at="/item", regex=r" #\d+$")),
    )

    def play(number: int):
        lines = [{"id": "a", "at": number}, {"id": "b", "at": number + 1}]
        return lambda agent: agent.call(
            "add", item=f"egg #{number}", meta={"request_id": number, "by": "me"}, lines=lines
        )

    run("record", play(1), suite=volatile)
    assert () == run("replay", play(2), suite=volatile).misses
    other = run("replay", lambda agent: agent.call("add", item="tea #1", meta={"by": "me"}), suite=volatile)
    assert 1 <= len(other.misses)


def test_a_generated_id_is_the_same_on_every_cassette_and_is_known_when_it_comes_back(
    run, shop, suite, tmp_path
) -> None:
    generating = with_tool(suite, "answer", generated_ids=("/order/id", "/next"))
    cassette = tmp_path / "cassettes/breakfast/c1.yaml"

    def play(agent) -> None:
        answer = agent.call("answer")[1]
        agent.call("look", q=answer["order"]["id"])
        agent.call("item", id=answer["next"])

    stored = []
    for real, cursor in (("order_8f3a77", "c29tZQ=="), ("order_000001", "b3RoZXI=")):
        shop.answer = (200, {}, json.dumps({"order": {"id": real}, "next": cursor, "n": 1}).encode())
        record = run("record", play, suite=generating)
        spans = "".join(span.model_dump_json() for span in record.spans)
        assert real not in spans
        stored.append((cassette.read_bytes(), trajectory_from(record.spans).digest))

    assert stored[0] == stored[1]
    assert b"8f3a77" not in stored[0][0]
    replayed = run("replay", play, suite=generating)
    assert ((), stored[0][1]) == (replayed.misses, trajectory_from(replayed.spans).digest)
    assert {"order_8f3a77", "order_000001"} <= {path.split("q=")[-1] for _, path, _, _ in shop.seen}


def test_a_generated_id_inside_of_a_json_text_is_the_same_on_every_cassette(run, shop, suite, tmp_path) -> None:
    """As MCP servers answer."""
    generating = with_tool(suite, "answer", generated_ids=("/content/0/text/order/id",))
    cassette = tmp_path / "cassettes/breakfast/c1.yaml"

    def play(agent) -> None:
        text = agent.call("answer")[1]["content"][0]["text"]
        agent.call("look", q=json.loads(text)["order"]["id"])

    stored = []
    for real in ("order_8f3a77", "order_000001"):
        text = json.dumps({"order": {"id": real, "n": 1}})
        shop.answer = (200, {}, json.dumps({"content": [{"type": "text", "text": text}]}).encode())
        run("record", play, suite=generating)
        stored.append(cassette.read_bytes())

    assert stored[0] == stored[1]
    assert b"8f3a77" not in stored[0]
    assert () == run("replay", play, suite=generating).misses
    assert {"order_8f3a77", "order_000001"} <= {path.split("q=")[-1] for _, path, _, _ in shop.seen}


def test_a_generated_uuid_stays_a_uuid(run, shop, suite, tmp_path: Path) -> None:
    shop.answer = (200, {}, b'{"id": "7b3c9a52-9d2e-4a7e-8c7b-1f0a7d1f2c11"}')
    run("record", lambda agent: agent.call("answer"), suite=with_tool(suite, "answer", generated_ids=("/id",)))
    given = []
    run(
        "replay",
        lambda agent: given.append(agent.call("answer")[1]["id"]),
        suite=with_tool(suite, "answer", generated_ids=("/id",)),
    )
    assert 36 == len(given[0])
    assert "7b3c9a52-9d2e-4a7e-8c7b-1f0a7d1f2c11" != given[0]
