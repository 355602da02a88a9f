"""`/v1/chat/completions`, read and written."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from tests.suites.frameworks.model_server.mind import Call, Conversation, Decision, text_of
from tests.suites.frameworks.model_server.minting import minted, pieces, usage_of

_TOLD_CALLS = re.compile(r"Calling tools:\s*(\[.*\])", re.DOTALL)


def read(body: dict[str, Any]) -> Conversation:
    """The conversation so far. Some agents tell their calls as text, and what came of them as the user's words."""
    made: list[Call] = []
    seen: list[str] = []
    guest = ""
    for message in body["messages"]:
        text = text_of(message.get("content"))
        made += [_made(call["function"]) for call in message.get("tool_calls") or ()]
        if message["role"] == "assistant":
            told = _TOLD_CALLS.search(text)
            made += [_made(call["function"]) for call in ast.literal_eval(told[1])] if told else []
        elif message["role"] == "tool" or text.startswith(("Observation:", "Error:")):
            seen.append(text)
        elif message["role"] == "user":
            guest = guest or text
    tools = frozenset(tool["function"]["name"] for tool in body.get("tools") or ())
    return Conversation(guest=guest, tools=tools, made=tuple(made), seen="\n".join(seen))


def reply(body: dict[str, Any], conversation: Conversation, decision: Decision) -> dict[str, Any]:
    calls = [
        {"id": minted("call"), "type": "function", "function": {"name": call.name, "arguments": _dumped(call)}}
        for call in decision.calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": decision.text}
    return {
        **_head(body, "chat.completion"),
        "choices": [
            {
                "index": 0,
                "message": {**message, "tool_calls": calls} if calls else message,
                "finish_reason": "tool_calls" if calls else "stop",
            }
        ],
        "usage": _usage(conversation, decision),
    }


def stream(body: dict[str, Any], conversation: Conversation, decision: Decision) -> Iterator[tuple[str | None, Any]]:
    head = _head(body, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> tuple[None, dict[str, Any]]:
        return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(decision.text):
        yield chunk({"content": piece})
    for index, call in enumerate(decision.calls):
        begun = {"id": minted("call"), "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [{"index": index, **begun}]})
        for piece in pieces(_dumped(call)):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if decision.calls else "stop")
    if (body.get("stream_options") or {}).get("include_usage"):
        yield None, {**head, "choices": [], "usage": _usage(conversation, decision)}
    yield None, "[DONE]"


def _made(function: dict[str, Any]) -> Call:
    arguments = function["arguments"]
    return Call(name=function["name"], arguments=json.loads(arguments) if isinstance(arguments, str) else arguments)


def _dumped(call: Call) -> str:
    return json.dumps(call.arguments)


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": minted("chatcmpl"), "object": kind, "created": 1_700_000_000, "model": body["model"]}


def _usage(conversation: Conversation, decision: Decision) -> dict[str, int]:
    read_in, written = usage_of(conversation, decision)
    return {"prompt_tokens": read_in, "completion_tokens": written, "total_tokens": read_in + written}
