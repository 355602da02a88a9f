"""Tool calls made to break the gateway: names that climb, schemas without an end, answers without an end."""

import json
import socket
import time

import pytest

from harness.suite.suites import Suite
from harness.traces.projection import trajectory_from
from tests.gateway.conftest import tool

_RECURSIVE = {
    "type": "object",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/node"}, "any": {"anyOf": [{"$ref": "#/$defs/node"}, {}]}},
            "additionalProperties": False,
        }
    },
    "properties": {"node": {"$ref": "#/$defs/node"}},
}


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "../turn",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e%2fturn",
        "look%00",
        "look/",
        "look%2f..%2fadd",
        "LOOK",
        "l%C3%B6%C3%B6k",
        "%ff%fe",
        "look%0d%0aX:%20y",
        "x" * 5000,
        "",
        "http:api.example.com",
    ],
)
def test_a_name_that_is_no_tools_reaches_nothing(run, shop, suite: Suite, name: str) -> None:
    told = []
    run(
        "live",
        lambda agent: told.append(agent.ask("POST", f"/tools/{name}", {"q": "egg"})),
        suite=suite.model_copy(update={"probes": ()}),
    )

    ((status, answer),) = told
    assert status in {404, 400}
    assert answer["error"]["type"] in {"unknown_tool", "no_such_route", "bad_request"}
    assert len(answer["error"]["message"]) < 1000
    assert [] == shop.seen


@pytest.mark.parametrize("depth", [5, 50, 98, 99, 100_000])
def test_a_schema_that_contains_itself_ends_with_an_answer(run, suite: Suite, depth: int) -> None:
    nested = b'{"node":' + b'{"next":' * depth + b"{}" + b"}" * depth + b"}"
    recursive = suite.model_copy(
        update={"tools": (tool("deep", "POST /order", "write", body="arguments", parameters=_RECURSIVE),), "probes": ()}
    )
    told = []
    began = time.monotonic()
    run("live", lambda agent: told.append(agent.ask("POST", "/tools/deep", nested)[0]), suite=recursive)

    assert [200 if depth <= 98 else 400] == told
    assert time.monotonic() - began < 60


def test_a_schema_of_ten_thousand_properties_is_listed_and_checked(run, suite: Suite) -> None:
    properties = {f"p{number}": {"type": "string", "description": "x" * 100} for number in range(10_000)}
    wide = {"type": "object", "properties": properties, "additionalProperties": False}
    huge = suite.model_copy(update={"tools": (tool("wide", "GET /order", parameters=wide),), "probes": ()})
    told = []

    def play(agent) -> None:
        told.append(len(agent.ask("GET", "/tools")[1]["tools"][0]["parameters"]["properties"]))
        told.append(agent.call("wide", p1="x")[0])
        told.append(agent.call("wide", q1="x")[0])

    run("live", play, suite=huge)
    assert [10_000, 200, 422] == told


def test_arguments_are_bounded_in_size_and_depth(run, suite: Suite) -> None:
    """What an agent can send is at most a mebibyte, of at most a hundred levels."""
    told = []

    def play(agent) -> None:
        told.append(agent.ask("POST", "/tools/look", json.dumps({"q": "x" * 1_100_000}).encode())[0])
        told.append(agent.ask("POST", "/tools/look", b'{"q": ' + b"[" * 200_000 + b"]" * 200_000 + b"}")[0])
        told.append(agent.call("look", q="egg")[0])

    record = run("live", play, suite=suite.model_copy(update={"probes": ()}))
    assert [413, 400, 200] == told
    assert 2 == len(trajectory_from(record.spans).calls)


@pytest.mark.parametrize("protocol", ["tcp", "h2c", "websocket"])
@pytest.mark.parametrize("body", [b"", b'{"text": "aloud"}'])
def test_a_request_behind_one_for_another_protocol_is_answered_or_its_connection_closed_at_once(
    run, protocol: str, body: bytes
) -> None:
    first = (
        f"POST /thought HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    came: list[bytes] = []

    def agent(agent) -> None:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(2)
            client.connect(str(agent.path))
            client.sendall(first + body + b"GET /tools HTTP/1.1\r\nHost: gateway\r\n\r\n")
            while (piece := client.recv(65_536)) and b'"tools"' not in b"".join(came):
                came.append(piece)

    run("live", agent)

    head = b"".join(came).lower().partition(b"\r\n\r\n")[0]
    assert head.startswith(b"http/1.1 204" if body else b"http/1.1 400")
    assert b"connection: close" in head
