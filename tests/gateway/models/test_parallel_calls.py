"""Parallel calls that are streamed in other providers' dialects stay apart, with whole arguments."""

from typing import Any

import pytest

from harness.traces.projection import trajectory_from
from tests.gateway.models.model_server import ModelServer
from tests.gateway.models.other_agents import GEMINI
from tests.gateway.models.test_usage_dialects import ASKED, CHAT, MESSAGES, RESPONSES, events

STREAM = f"{GEMINI}streamGenerateContent?alt=sse"
BOTH = [("weather", {"city": "Oslo"}), ("weather", {"city": "Rome"})]
ONE, OTHER = '{"city": "Oslo"}', '{"city": "Rome"}'


def piece(identity: str | None = None, arguments: Any = None, name: str | None = "weather", **more: Any) -> Any:
    function = {"name": name, "arguments": arguments}
    return {"function": {key: value for key, value in function.items() if value is not None}, **more} | (
        {} if identity is None else {"id": identity}
    )


def chat(*deltas: Any) -> bytes:
    told = [{"tool_calls": delta} if isinstance(delta, list) else delta for delta in deltas]
    ends = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    return events(*({"choices": [{"index": 0, "delta": delta}]} for delta in told), ends)


def zero(*given: Any, **more: Any) -> Any:
    return [piece(*given, index=0, **more)]


def block(index: int | None, *parts: str, **more: Any) -> list[Any]:
    at = {} if index is None else {"index": index}
    start = {"type": "tool_use", "id": parts[0], "name": "weather", "input": {}} | more
    deltas = [{"type": "content_block_delta", **at, "delta": {"partial_json": part}} for part in parts[1:]]
    return [{"type": "content_block_start", **at, "content_block": start}, *deltas]


def messages(*blocks: list[Any]) -> bytes:
    return events(
        {"type": "message_start", "message": {}}, *(one for each in blocks for one in each), {"type": "message_stop"}
    )


def item(kind: str, call: str | None, arguments: str, identity: str | None = None, index: Any = 0) -> Any:
    told = {"type": "function_call", "call_id": call, "name": "weather", "arguments": arguments, "id": identity or call}
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": told}


def more(call: str, text: str, kind: str = "delta") -> Any:
    return {"type": f"response.function_call_arguments.{kind}", "item_id": call, "delta": text, "arguments": text}


def responses(*said: Any, output: Any = ()) -> bytes:
    return events(*said, {"type": "response.completed", "response": {"status": "completed", "output": list(output)}})


def gemini(*calls: Any) -> bytes:
    parts = [{"functionCall": {**call, "willContinue": True} if more else call} for call, more in calls]
    told = [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]
    return events(*told, {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]})


def argument(text: str, more: bool = False, path: str = "$.city") -> Any:
    return {"partialArgs": [{"jsonPath": path, "stringValue": text} | ({"willContinue": True} if more else {})]}


WEATHER = {"name": "weather"}
ROME = ({**WEATHER, "args": {"city": "Rome"}}, False)


def test_another_name_without_any_id_begins_a_new_call(play, every_suite, models: ModelServer) -> None:
    models.said, asked = [chat(zero(None, "", "now"), zero(None, "", "today"))], (CHAT, ASKED | {"stream": True})
    record = play("live", lambda agent: agent.ask_raw("POST", *asked), model="live", suite=every_suite)
    assert ["now", "today"] == [call.name for step in trajectory_from(record.spans).steps for call in step.calls]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (CHAT, chat(zero("a", '{"city": '), zero(None, '"Oslo"}', None), zero("b", ""), zero(None, OTHER, None))),
        (CHAT, chat(zero("a", ONE) + zero("b", OTHER))),
        (CHAT, chat([piece("a", '{"city": ')], [piece(None, '"Oslo"}', None)], [piece("b", OTHER)])),
        (CHAT, chat([piece("a", ONE), piece("b", OTHER)])),
        (CHAT, chat([piece("a", ""), piece("b", "")], [piece(None, ONE, None), piece(None, OTHER, None)])),
        (CHAT, chat(*(zero("a", part) for part in ("", '{"city": ', '"Oslo"}')), *(zero("b", p) for p in ("", OTHER)))),
        (CHAT, chat(zero("a", '{"city": '), zero("b", '{"city": '), zero("a", '"Oslo"}'), zero("b", '"Rome"}'))),
        (CHAT, chat(zero("a", ""), zero("a", ONE), zero("a", ONE), zero("b", OTHER))),
        (CHAT, chat(zero("", ONE), zero("", OTHER))),  # Gemini's compatible endpoint
        (CHAT, chat(zero("a", ONE), zero("a", OTHER))),
        (CHAT, chat(zero(None, f"{ONE} \n"), zero(None, OTHER))),
        (CHAT, chat(zero(None, ONE) + zero(None, OTHER))),
        (CHAT, chat([piece(None, {"city": "Oslo"}), piece(None, {"city": "Rome"})])),  # Ollama
        (CHAT, chat(zero("a", None), zero(None, ONE, None), [piece("b", OTHER, index=1)])),
        (CHAT, chat([piece("a", ONE, index=0), piece("a", OTHER, index=1)])),
        (
            CHAT,
            chat(zero("a", '{"city": '), zero("b", '"Oslo"}', None), zero("c", '{"ci'), zero("d", 'ty": "Rome"}', "")),
        ),
        (MESSAGES, messages(block(0, "a", '{"city"', ': "Oslo"}'), block(1, "b", OTHER))),
        (MESSAGES, messages(block(0, "a", '{"city"', ': "Oslo"}'), block(0, "b", OTHER))),
        (MESSAGES, messages(block(None, "a", ONE), block(None, "b", OTHER))),
        (MESSAGES, messages(block(0, "a", input={"city": "Oslo"}), block(1, "b", OTHER))),
        (RESPONSES, responses(item("done", "a", ONE), item("done", "b", OTHER))),
        (RESPONSES, responses(item("added", "a", ""), more("a", ONE), item("added", "b", ""), more("b", OTHER))),
        (RESPONSES, responses(item("added", "a", ""), item("added", "b", ""), more("b", OTHER), more("a", ONE))),
        (RESPONSES, responses(item("added", "a", "", "x"), item("done", "a", ONE, "y"), item("done", "b", OTHER))),
        (
            RESPONSES,
            responses(item("added", "a", "", "x"), more("x", ONE), item("added", "b", "", "x"), more("x", OTHER)),
        ),
        (RESPONSES, responses(item("added", "a", ""), more("a", ONE, "done"), *2 * [item("done", "b", OTHER)])),
        (STREAM, gemini(({**WEATHER, "args": {"city": "Oslo"}}, False), ROME)),
        (STREAM, gemini((WEATHER, True), (argument("Os", True), True), (argument("lo"), True), ({}, False), ROME)),
        (STREAM, gemini((WEATHER | argument("Oslo"), False), (WEATHER | argument("Rome", path="$['city']"), False))),
        (STREAM, gemini((WEATHER | argument("Os", True), True), (argument("lo"), False), ROME)),
        (RESPONSES, responses(output=[item("done", "a", ONE)["item"], item("done", "b", OTHER)["item"]])),
    ],
    ids=lambda value: value.decode()[:160] if isinstance(value, bytes) else "",
)
def test_a_new_id_begins_a_new_call(play, every_suite, models: ModelServer, path: str, said: bytes) -> None:
    models.said = [said]
    asked = {"model": "small-1", "input": "Hi", "stream": True} if path == RESPONSES else ASKED | {"stream": True}
    asked = {"contents": []} if path == STREAM else asked
    record = play("live", lambda agent: agent.ask_raw("POST", path, asked), model="live", suite=every_suite)
    (step,) = (step for step in trajectory_from(record.spans).steps if step.source == "agent")
    assert BOTH == [(call.name, call.arguments) for call in step.calls]
