"""The local model behind the wire formats: it answers in JSON that a grammar forces, read as calls and text."""

import json
from typing import Any
from urllib.request import Request, urlopen

from tests.suites.frameworks.model_server.mind import Call, Conversation, Decision, text_of

_MAX_TOKENS = 200
_MAX_RESULT = 1500
"""Characters of a tool's answer that are shown to it: it has little memory, and is slow to read."""


class LlamaMind:
    """Decides by asking a llama.cpp server at `url`."""

    def __init__(self, url: str) -> None:
        self._url = f"{url}/v1/chat/completions"

    def __call__(self, body: dict[str, Any], conversation: Conversation) -> Decision:
        """The model's next step; what is not JSON (cut off at the limit of tokens) is text."""
        del conversation
        tools = body.get("tools") or []
        asked = {
            "messages": [_shown(message) for message in body["messages"]],
            "tools": tools,
            "tool_choice": "none",
            "response_format": {"type": "json_schema", "json_schema": {"name": "step", "schema": _schema(tools)}},
            "max_tokens": _MAX_TOKENS,
            "temperature": 0,
            "seed": 1,
        }
        request = Request(self._url, json.dumps(asked).encode(), {"Content-Type": "application/json"})
        with urlopen(request, timeout=300) as response:
            said = json.load(response)["choices"][0]["message"]["content"]
        try:
            step = json.loads(said)
        except ValueError:
            return Decision(text=said)
        if step["tool"] == "reply":
            return Decision(text=step["message"])
        return Decision(text="", calls=(Call(name=step["tool"], arguments=step["arguments"]),))


def _shown(message: dict[str, Any]) -> dict[str, str]:
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    if calls:
        called = {"tool": calls[0]["name"], "arguments": json.loads(calls[0]["arguments"])}
        return {"role": "assistant", "content": json.dumps(called)}
    return {"role": message["role"], "content": text_of(message["content"])[:_MAX_RESULT]}


def _schema(tools: list[dict[str, Any]]) -> dict[str, Any]:
    """One tool's call, or a reply."""
    calls = [_object(tool=function["name"], arguments=function["parameters"]) for function in map(_function, tools)]
    return {"anyOf": [*calls, _object(tool="reply", message={"type": "string", "maxLength": 200})]}


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    function: dict[str, Any] = tool["function"]
    return function


def _object(*, tool: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"tool": {"const": tool}, **properties},
        "required": ["tool", *properties],
        "additionalProperties": False,
    }
