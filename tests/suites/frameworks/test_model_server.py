"""The model that the frameworks are proved with says the same in every wire format, streamed or not."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.suites.frameworks.model_server.server import ModelServer, running_model

GUEST = "Two pancakes and a small orange juice, please."
TOOL = {"name": "lookup_menu_item", "description": "", "parameters": {"type": "object"}}
REQUESTS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "model": "m",
        "messages": [{"role": "user", "content": GUEST}],
        "tools": [{"type": "function", "function": TOOL}],
    },
    "/v1/responses": {"model": "m", "input": GUEST, "tools": [{"type": "function", **TOOL}]},
    "/v1/messages": {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": GUEST}],
        "tools": [{"name": TOOL["name"], "input_schema": TOOL["parameters"]}],
    },
}
LOOKUPS = [("lookup_menu_item", {"query": words, "limit": 5}) for words in ("pancakes", "orange juice")]


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with running_model() as server:
        yield server


def ask(model: ModelServer, path: str, body: dict[str, Any]) -> bytes:
    connection = HTTPConnection("127.0.0.1", model.server_port, timeout=10)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert 200 == response.status
        return response.read()
    finally:
        connection.close()


def said(path: str, reply: dict[str, Any]) -> tuple[str, list[tuple[str, Any]]]:
    """The text and the calls of a whole reply."""
    match path.rpartition("/")[2]:
        case "completions":
            message = reply["choices"][0]["message"]
            calls = [call["function"] for call in message.get("tool_calls", ())]
            return message["content"], [(call["name"], json.loads(call["arguments"])) for call in calls]
        case "responses":
            text, *calls = reply["output"]
            return text["content"][0]["text"], [(call["name"], json.loads(call["arguments"])) for call in calls]
        case _:
            text, *calls = reply["content"]
            return text["text"], [(call["name"], call["input"]) for call in calls]


def streamed(stream: bytes) -> tuple[str, list[tuple[str, Any]]]:
    """The text and the calls of a stream, put together from its pieces alone."""
    lines = [line.removeprefix("data: ") for line in stream.decode().splitlines() if line.startswith("data: ")]
    text, calls = "", list[list[str]]()
    for kind, piece in (piece for line in lines if line != "[DONE]" for piece in pieces(json.loads(line))):
        match kind:
            case "text":
                text += piece
            case "call":
                calls.append([piece, ""])
            case _:
                calls[-1][1] += piece
    return text, [(name, json.loads(arguments)) for name, arguments in calls]


def pieces(event: dict[str, Any]) -> Iterator[tuple[str, str]]:
    match event:
        case {"choices": [{"delta": {"tool_calls": [{"function": function}]}}]}:
            if "name" in function:
                yield "call", function["name"]
            yield "arguments", function["arguments"]
        case {"choices": [{"delta": {"content": str(text)}}]}:
            yield "text", text
        case {"type": "content_block_start", "content_block": {"type": "tool_use", "name": str(name)}}:
            yield "call", name
        case {"type": "response.output_item.added", "item": {"type": "function_call", "name": str(name)}}:
            yield "call", name
        case {"type": "response.output_text.delta", "delta": str(text)} | {"delta": {"text": str(text)}}:
            yield "text", text
        case {"type": "response.function_call_arguments.delta", "delta": str(part)} | {
            "delta": {"partial_json": str(part)}
        }:
            yield "arguments", part


@pytest.mark.parametrize("path", REQUESTS)
def test_it_looks_every_wish_up_at_once(model: ModelServer, path: str) -> None:
    assert ("Let me look at the menu.", LOOKUPS) == said(path, json.loads(ask(model, path, REQUESTS[path])))


@pytest.mark.parametrize("path", REQUESTS)
def test_a_stream_brings_what_a_whole_reply_says(model: ModelServer, path: str) -> None:
    assert ("Let me look at the menu.", LOOKUPS) == streamed(ask(model, path, {**REQUESTS[path], "stream": True}))


def test_it_tries_the_guests_words_as_an_id_and_puts_it_right_after_the_error(model: ModelServer) -> None:
    path = "/v1/chat/completions"
    body = {**REQUESTS[path], "messages": list(REQUESTS[path]["messages"])}
    menu = {"pancakes": "buttermilk-pancakes", "orange juice": "orange-juice"}
    made: list[str] = []
    while message := json.loads(ask(model, path, body))["choices"][0]["message"]:
        body["messages"].append(message)
        for call in message.get("tool_calls", ()):
            arguments = json.loads(call["function"]["arguments"])
            made.append(arguments.get("item_id", call["function"]["name"]))
            query = arguments.get("query")
            answer = {"query": query, "items": [{"id": menu[query]}]} if query else {"error": {}}
            body["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(answer)})
        if "tool_calls" not in message:
            break

    assert ["lookup_menu_item"] * 2 + ["pancakes", "buttermilk-pancakes", "orange-juice", "finalize_order"] == made
    assert "Thank you! Please drive up to the window." == message["content"]
