"""`/v1/responses`, read and written."""

import json
from collections.abc import Iterator
from typing import Any

from tests.suites.frameworks.model_server.mind import Call, Conversation, Decision, text_of
from tests.suites.frameworks.model_server.minting import minted, pieces, usage_of


def read(body: dict[str, Any]) -> Conversation:
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    made = tuple(
        Call(name=item["name"], arguments=json.loads(item["arguments"]))
        for item in items
        if item.get("type") == "function_call"
    )
    seen = [text_of(item["output"]) for item in items if item.get("type") == "function_call_output"]
    guests = [text_of(item["content"]) for item in items if item.get("role") == "user"]
    tools = frozenset(tool["name"] for tool in body.get("tools") or () if "name" in tool)
    return Conversation(guest=guests[0] if guests else "", tools=tools, made=made, seen="\n".join(seen))


def reply(body: dict[str, Any], conversation: Conversation, decision: Decision) -> dict[str, Any]:
    return _response(body, _usage(conversation, decision), _items(decision), "completed")


def stream(body: dict[str, Any], conversation: Conversation, decision: Decision) -> Iterator[tuple[str | None, Any]]:
    whole = reply(body, conversation, decision)
    for number, (kind, fields) in enumerate(_events(whole)):
        yield kind, {"type": kind, "sequence_number": number, **fields}


def _events(whole: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        empty = {"content": []} if item["type"] == "message" else {"arguments": ""}
        added = {**item, "status": "in_progress", **empty}
        yield "response.output_item.added", {"output_index": index, "item": added}
        yield from _text_events(item, place) if item["type"] == "message" else _call_events(item, place)
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield "response.completed", {"response": whole}


def _text_events(item: dict[str, Any], place: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    part, place = item["content"][0], {**place, "content_index": 0}
    yield "response.content_part.added", {**place, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}


def _call_events(item: dict[str, Any], place: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for piece in pieces(item["arguments"]):
        yield "response.function_call_arguments.delta", {**place, "delta": piece}
    yield "response.function_call_arguments.done", {**place, "name": item["name"], "arguments": item["arguments"]}


def _items(decision: Decision) -> list[dict[str, Any]]:
    text = {"type": "output_text", "text": decision.text, "annotations": [], "logprobs": []}
    done = {"status": "completed"}
    message = {"id": minted("msg"), "type": "message", "role": "assistant", "content": [text], **done}
    calls = [
        {
            "id": minted("fc"),
            "type": "function_call",
            "call_id": minted("call"),
            "name": call.name,
            "arguments": json.dumps(call.arguments),
            **done,
        }
        for call in decision.calls
    ]
    return [message, *calls]


def _response(body: dict[str, Any], usage: dict[str, Any], items: list[dict[str, Any]], status: str) -> dict[str, Any]:
    return {
        "id": minted("resp"),
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": body["model"],
        "output": items,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "usage": usage,
    }


def _usage(conversation: Conversation, decision: Decision) -> dict[str, Any]:
    read_in, written = usage_of(conversation, decision)
    return {
        "input_tokens": read_in,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read_in + written,
    }
