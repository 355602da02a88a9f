"""Which recorded reads can be sent again without an agent, as what, and why the others cannot."""

import json
from typing import Any

import pytest

from harness.cassettes.cassette import Cassette
from harness.cassettes.keys import initial_state, key_digest
from harness.cassettes.recordings import Mark, Recording
from harness.drift.replayable import ReplayableRead, find_replayable_reads, is_at_start
from harness.gateway.upstream.host_calls import WebCall
from harness.gateway.upstream.sources import ToolRequest
from harness.suite.hosts import HostSpec
from harness.suite.suites import ToolServer
from harness.suite.tools import ToolSpec
from harness.values import JsonObject, canonical_json
from tests.drift.noise import SUITE

PARAMETERS = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


def tool(name: str, effect: str = "read", **fields: Any) -> ToolSpec:
    return ToolSpec.model_validate(
        {"name": name, "server": "s", "effect": effect, "http": {"path": "/x"}, "parameters": PARAMETERS} | fields
    )


TOOLS = (tool("find"), tool("write", "write"), tool("make", generated_ids=("/id", "/items/*/id")))
HOSTS = (HostSpec(host="api.example"),)
SUITE_OF_BOTH = SUITE.model_copy(
    update={"tools": TOOLS, "hosts": HOSTS, "servers": {"s": ToolServer(base_url="http://s.example")}}
)


def recorded(name: str, arguments: JsonObject, body: Any = None, **mark: Any) -> Recording:
    text = canonical_json(arguments)
    values = {
        "server": "s",
        "tool": name,
        "effect": "read",
        "key": key_digest(name, text, mark.get("kind", "tool")),
        "state": initial_state(mark.get("server", "s")),
        "writes": 0,
        "occurrence": 0,
    }
    body = json.dumps(body).encode()
    return Recording(mark=Mark.model_validate(values | mark), arguments=text, status=200, headers={}, body=body)


def host(asked: JsonObject, **mark: Any) -> Recording:
    request = {"method": "GET", "url": "http://api.example/items"} | asked
    return recorded("http:api.example", request, kind="http", server="api.example", **mark)


def asked(*recordings: Recording, tools: tuple[str, ...] = (), **secrets: str) -> list[ReplayableRead]:
    return find_replayable_reads(SUITE_OF_BOTH, {"c": Cassette(recordings)}, secrets, tools)


def test_a_read_is_sent_as_it_was_recorded_and_once_for_all_cases() -> None:
    one = recorded("find", {"q": "egg"})
    cassettes = {name: Cassette([one]) for name in ("b", "a")}
    [read] = find_replayable_reads(SUITE_OF_BOTH, cassettes, {}, ())
    assert isinstance(read.call, ToolRequest)
    assert ("find", {"q": "egg"}, None) == (read.call.tool.name, read.call.arguments, read.why_not)
    assert ("a", "b") == read.cases
    assert not read.follows_a_write


def test_writes_and_requests_to_models_are_no_reads_and_one_that_was_repeated_is_sent_three_times() -> None:
    times = [recorded("find", {"q": "egg"}, occurrence=number) for number in range(5)]
    write, model = recorded("write", {"q": "egg"}, effect="write"), recorded("m", {}, kind="model")
    assert [0, 1, 2] == [one.recording.mark.occurrence for one in asked(*times, write, model)]
    assert [] == asked(*times, tools=("other",))
    assert 3 == len(asked(*times, tools=("find",)))


@pytest.mark.parametrize(
    ("recording", "why"),
    [
        (recorded("find", {"q": "egg"}, state="0" * 32, writes=1), "it depends on writes made before it"),
        (recorded("gone", {"q": "egg"}), "the suite no longer has this tool"),
        (recorded("write", {"q": "egg"}), "the suite does not say that it only reads"),
        (recorded("find", {}), "its recorded arguments are incomplete"),
        (recorded("find", {"q": "<secret:token:0123abcd>"}), "a secret whose value is not stored"),
        (host({"url": "http://api.example/x", "method": "POST"}), "the suite does not say that it only reads"),
        (host({"sha256": "0"}), "only the digest of its body is stored"),
        (host({"json_sha256": "0"}), "only the digest of its body is stored"),
        (
            recorded("http:b.example", {"method": "GET", "url": "http://b.example"}, kind="http"),
            "no longer has this host",
        ),
    ],
)
def test_a_read_that_cannot_be_sent_says_why(recording: Recording, why: str) -> None:
    [read] = asked(recording)
    assert None is read.call
    assert why in (read.why_not or "")


def test_a_read_of_an_id_that_the_run_generated_is_another_question() -> None:
    made = recorded("make", {"q": "egg"}, {"id": "new-1", "items": [{"id": "new-2"}], "name": "egg"})
    broken = recorded("make", {"q": "tea"}, occurrence=0).model_copy(update={"body": b"{"})
    for value, sent in (("new-1", False), ("new-2", False), ("egg", True), ("new-11", True)):
        reads = asked(made, broken, recorded("find", {"q": value}))
        [read] = [one for one in reads if one.recording.mark.tool == "find"]
        assert sent == (read.call is not None)
        assert sent or "generated" in (read.why_not or "")


def test_a_secret_is_sent_with_its_value() -> None:
    [read] = asked(recorded("find", {"q": "<secret:KEY> and <secret:OTHER>"}), KEY='a"b')
    assert isinstance(read.call, ToolRequest)
    assert {"q": 'a"b and <secret:OTHER>'} == read.call.arguments


@pytest.mark.parametrize(
    ("request_", "address", "body", "media"),
    [
        ({}, "http://api.example/items", b"", None),
        ({"query": {"a": "1 2", "b": [3, 4]}}, "http://api.example/items?a=1%202&b=3&b=4", b"", None),
        ({"query": "raw=1"}, "http://api.example/items?raw=1", b"", None),
        ({"json": {"a": "\u00e9"}}, "http://api.example/items", '{"a": "\u00e9"}'.encode(), "application/json"),
        ({"text": "plain"}, "http://api.example/items", b"plain", "text/plain"),
        (
            {"form": {"a": "1 2", "b": ["x", "y"]}},
            "http://api.example/items",
            b"a=1+2&b=x&b=y",
            "application/x-www-form-urlencoded",
        ),
    ],
)
def test_a_request_to_a_host_is_sent_with_its_query_and_body(
    request_: JsonObject, address: str, body: bytes, media: str | None
) -> None:
    [read] = asked(host({"headers": {"x": 1}} | request_))
    assert isinstance(read.call, WebCall)
    path, _, query = address.removeprefix("http://api.example").partition("?")
    assert (path, query) == (read.call.address.path, read.call.address.query)
    assert ("GET", body) == (read.call.method, read.call.body)
    assert {"x": "1"} | ({"content-type": media} if media else {}) == dict(read.call.headers)


def test_only_a_call_before_every_write_of_its_state_is_at_the_start() -> None:
    one = recorded("find", {"q": "egg"})
    assert is_at_start(one)
    assert not is_at_start(recorded("find", {"q": "egg"}, writes=1))
    assert not is_at_start(recorded("find", {"q": "egg"}, elsewhere=1))
    assert not is_at_start(recorded("find", {"q": "egg"}, state="0" * 32))
