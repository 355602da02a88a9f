"""The trial's tools over MCP: both eras of the protocol, and clear errors for everything that is not it."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.suite.cases import Case, Limits
from harness.traces.projection import trajectory_from

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MODERN = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def message(method: str, params: dict[str, Any] | None = None, number: int | str | None = 1) -> dict[str, Any]:
    more = {} if number is None else {"id": number}
    return {"jsonrpc": "2.0", "method": method, **more, **({} if params is None else {"params": params})}


def called(name: str, **arguments: Any) -> dict[str, Any]:
    return message("tools/call", {"name": name, "arguments": arguments})


def post(agent, body: object, **headers: str) -> tuple[int, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return agent.ask("POST", "/mcp", body, JSON | named)


def modern(agent, method: str, params: dict[str, Any] | None = None, **headers: str) -> tuple[int, Any]:
    named = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method}
    if params is not None and "name" in params:
        named["Mcp_Name"] = params["name"]
    return post(agent, message(method, {**(params or {}), "_meta": ENVELOPE}), **(named | headers))


def live(run, play, **more: Any) -> list[Any]:
    """What each of the requests of `play` was answered."""
    answers: list[Any] = []
    run("live", lambda agent: answers.extend(play(agent)), **more)
    return answers


def test_a_client_of_the_handshake_era_initializes_lists_and_calls(run) -> None:
    found: dict[str, Any] = {}

    def play(agent) -> None:
        wish = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        status, headers, body = agent.ask_raw("POST", "/mcp", message("initialize", wish), JSON)
        found["initialized"] = status, json.loads(body)["result"]["protocolVersion"]
        assert "mcp-session-id" not in headers
        found["acknowledged"] = post(agent, message("notifications/initialized", number=None))
        found["listed"] = post(agent, message("tools/list"))[1]["result"]
        found["looked"] = post(agent, called("look", q="egg"))
        found["pinged"] = post(agent, message("ping", number="p"))

    record = run("live", play)
    assert found["initialized"] == (200, "2025-06-18")
    assert found["acknowledged"] == (202, None)
    assert found["listed"]["tools"][0] == {
        "name": "look",
        "description": "Finds items.",
        "inputSchema": {
            "type": "object",
            "properties": {"q": {"type": "string"}, "limit": {"type": "integer", "default": 5}},
            "required": ["q"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True},
    }
    assert found["looked"] == (
        200,
        {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {
                "content": [{"type": "text", "text": '{"found": ["egg"]}'}],
                "structuredContent": {"found": ["egg"]},
                "isError": False,
            },
        },
    )
    assert found["pinged"] == (200, {"jsonrpc": "2.0", "id": "p", "result": {}})
    steps = trajectory_from(record.spans).steps
    assert [[call.name for call in step.calls] for step in steps] == [["look"]]


def test_a_version_that_nobody_knows_is_answered_with_the_newest_handshake(run) -> None:
    wish = {"protocolVersion": "2031-01-01", "capabilities": {}}
    [(status, answer)] = live(run, lambda agent: [post(agent, message("initialize", wish))])
    assert (status, answer["result"]["protocolVersion"]) == (200, "2025-11-25")


def test_a_modern_client_discovers_lists_and_calls_without_a_session(run) -> None:
    discovered, listed, looked = live(
        run,
        lambda agent: [
            modern(agent, "server/discover"),
            modern(agent, "tools/list"),
            modern(agent, "tools/call", {"name": "look", "arguments": {"q": "egg"}}),
        ],
    )
    assert discovered[1]["result"]["supportedVersions"][0] == MODERN
    assert {key: listed[1]["result"][key] for key in ("resultType", "ttlMs", "cacheScope")} == {
        "resultType": "complete",
        "ttlMs": 0,
        "cacheScope": "private",
    }
    assert (looked[0], looked[1]["result"]["resultType"]) == (200, "complete")
    assert looked[1]["result"]["structuredContent"] == {"found": ["egg"]}


@pytest.mark.parametrize(
    ("headers", "meta", "code"),
    [
        ({"Mcp_Method": "tools/call"}, ENVELOPE, -32020),
        ({"Mcp_Method": "tools/list"}, {}, -32602),
        ({"Mcp_Method": "tools/list"}, ENVELOPE | {"io.modelcontextprotocol/protocolVersion": "2025-01-01"}, -32020),
    ],
)
def test_a_modern_request_that_disagrees_with_itself_is_refused(run, headers, meta, code) -> None:
    body = message("tools/list", {"_meta": meta})
    [(status, answer)] = live(run, lambda agent: [post(agent, body, MCP_Protocol_Version=MODERN, **headers)])
    assert (status, answer["error"]["code"], answer["id"]) == (400, code, 1)


def test_a_modern_name_may_be_wrapped(run) -> None:
    wrapped = "=?base64?bG9vaw==?="
    params = {"name": "look", "arguments": {"q": "egg"}}
    right, wrong = live(
        run,
        lambda agent: [
            modern(agent, "tools/call", params, Mcp_Name=wrapped),
            modern(agent, "tools/call", params, Mcp_Name="=?base64?%?="),
        ],
    )
    assert (right[0], wrong[1]["error"]["code"]) == (200, -32020)


def test_what_the_model_should_see_is_a_result_and_a_wrong_request_an_error(run) -> None:
    answers = live(
        run,
        lambda agent: [
            post(agent, called("look", z=1)),
            post(agent, called("reset")),
            post(agent, called("nothing")),
            post(agent, message("tools/call", {"name": "look", "arguments": [1]})),
            post(agent, message("tools/call", {"arguments": {}})),
            post(agent, message("resources/list")),
            modern(agent, "prompts/list"),
        ],
    )
    assert [(status, answer.get("error", {}).get("code")) for status, answer in answers] == [
        (200, None),
        (200, None),
        (200, -32602),
        (200, -32602),
        (200, -32602),
        (200, -32601),
        (404, -32601),
    ]
    kinds = [answers[index][1]["result"]["_meta"]["harness/error"]["type"] for index in (0, 1)]
    assert kinds == ["invalid_arguments", "reset"]
    assert [answers[index][1]["result"]["isError"] for index in (0, 1)] == [True, True]


def test_refused_calls_are_traced_like_any_other(run) -> None:
    def play(agent) -> None:
        post(agent, called("nothing"))
        post(agent, message("tools/call", {"name": "look", "arguments": [1]}))

    steps = trajectory_from(run("live", play).spans).steps
    errors = [step.observations[0].error.type for step in steps]
    assert errors == ["unknown_tool", "unparsable_arguments"]


@pytest.mark.parametrize(
    ("method", "body", "headers", "status", "code"),
    [
        ("GET", None, {}, 405, -32600),
        ("DELETE", None, {}, 405, -32600),
        ("PUT", b"{}", JSON, 405, -32600),
        ("POST", b"{", JSON, 400, -32700),
        ("POST", b"", JSON, 400, -32700),
        ("POST", b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "x": NaN}', JSON, 400, -32700),
        ("POST", b"[" * 500 + b"]" * 500, JSON, 400, -32700),
        ("POST", b'"text"', JSON, 400, -32600),
        ("POST", b'{"id": 1, "method": "ping"}', JSON, 400, -32600),
        ("POST", b'{"jsonrpc": "2.0", "id": 1, "method": 3}', JSON, 400, -32600),
        ("POST", b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', JSON, 400, -32600),
        ("POST", b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', JSON, 200, -32602),
        ("POST", b"{}", {"Content-Type": "text/plain"}, 415, -32600),
        ("POST", b"{}", {}, 415, -32600),
        ("POST", b"{}", {"Content-Type": "application/json", "Accept": "text/html"}, 406, -32600),
        ("POST", b" " * (1024 * 1024 + 1), JSON, 413, -32600),
        ("POST", b"[]", JSON, 400, -32600),
        ("POST", json.dumps([message("ping")]).encode(), JSON, 400, -32600),
        ("POST", json.dumps(message("ping")).encode(), JSON | {"MCP-Protocol-Version": "1999"}, 400, -32022),
    ],
)
def test_what_is_not_the_protocol_gets_a_clear_error(run, method, body, headers, status, code) -> None:
    [(got, answer)] = live(run, lambda agent: [agent.ask(method, "/mcp", body, headers)])
    assert (got, answer["jsonrpc"], answer["error"]["code"]) == (status, "2.0", code)
    assert answer["error"]["message"]


def test_a_call_over_mcp_is_replayed_like_one_over_http(run, tmp_path: Path) -> None:
    run("record", lambda agent: post(agent, called("look", q="egg")))
    answers: list[Any] = []

    def play(agent) -> None:
        answers.append(post(agent, called("look", q="egg"))[1]["result"]["structuredContent"])
        answers.append(agent.call("look", q="egg"))
        missed = agent.ask_raw("POST", "/mcp", called("look", q="ham"), JSON)
        answers.append((missed[0], missed[1].get("x-should-retry"), json.loads(missed[2])["result"]["_meta"]))

    record = run("replay", play)
    assert answers == [
        {"found": ["egg"]},
        (200, {"found": ["egg"]}),
        (200, "false", {"harness/error": {"type": "replay_miss", "retryable": False}}),
    ]
    assert record.misses[0]["arguments"] == {"limit": 5, "q": "ham"}


def test_calls_over_mcp_count_towards_the_limit(run, case: Case) -> None:
    answers: list[str | None] = []

    def play(agent) -> None:
        for _ in range(2):
            result = post(agent, called("look", q="egg"))[1]["result"]
            answers.append(result.get("_meta", {}).get("harness/error", {}).get("type"))

    limited = case.model_copy(update={"limits": Limits(steps=1)})
    record = run("live", play, case=limited)
    assert answers == [None, "limit_reached"]
    assert record.limit_reached == "1 tool calls"
