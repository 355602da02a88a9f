"""`/v1/messages`, read and written."""

import json
from collections.abc import Iterator
from typing import Any

from tests.suites.frameworks.model_server.mind import Call, Conversation, Decision, text_of
from tests.suites.frameworks.model_server.minting import minted, pieces, usage_of


def read(body: dict[str, Any]) -> Conversation:
    blocks = [(message["role"], block) for message in body["messages"] for block in _blocks(message["content"])]
    made = tuple(
        Call(name=block["name"], arguments=block["input"]) for _, block in blocks if block["type"] == "tool_use"
    )
    seen = [text_of(block.get("content", "")) for _, block in blocks if block["type"] == "tool_result"]
    guests = [block["text"] for role, block in blocks if role == "user" and block["type"] == "text"]
    tools = frozenset(tool["name"] for tool in body.get("tools") or ())
    return Conversation(guest=guests[0] if guests else "", tools=tools, made=made, seen="\n".join(seen))


def reply(body: dict[str, Any], conversation: Conversation, decision: Decision) -> dict[str, Any]:
    read_in, written = usage_of(conversation, decision)
    calls = [
        {"type": "tool_use", "id": minted("toolu"), "name": call.name, "input": call.arguments}
        for call in decision.calls
    ]
    return {
        "id": minted("msg"),
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": decision.text}, *calls],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": read_in, "output_tokens": written},
    }


def stream(body: dict[str, Any], conversation: Conversation, decision: Decision) -> Iterator[tuple[str | None, Any]]:
    for event in _events(reply(body, conversation, decision)):
        yield event["type"], event


def _events(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    usage = whole["usage"]
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(whole["content"]):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for piece in pieces(block["text"] if is_text else json.dumps(block["input"])):
            delta = {"type": "text_delta", "text": piece} if is_text else _input_delta(piece)
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": usage["output_tokens"]}}
    yield {"type": "message_stop"}


def _input_delta(piece: str) -> dict[str, str]:
    return {"type": "input_json_delta", "partial_json": piece}


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
