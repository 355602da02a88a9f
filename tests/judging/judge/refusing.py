"""Real servers that speak both wire formats and refuse sampling parameters in their providers' words."""

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.judging.judge.serving import served

OPENAI = {
    "temperature": (
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        "unsupported_value",
    ),
    "top_p": ("Unsupported parameter: 'top_p' is not supported with this model.", "unsupported_parameter"),
    "seed": ("Unknown parameter: 'seed'.", "unknown_parameter"),
    "max_tokens": (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "unsupported_parameter",
    ),
}
OPENAI["maxLength"] = (
    "Invalid schema for response_format: In context=('properties', 'rationale'), 'maxLength' is not permitted.",
    "invalid_json_schema",
)
ANTHROPIC = {
    "temperature": "`temperature` is deprecated for this model.",
    "top_p": "top_p: Extra inputs are not permitted",
}


@dataclass
class Provider:
    """A model that passes everything; what it was sent, and how often it refused."""

    refuses: Collection[str]
    url: str = ""
    sent: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        problem = next((name for name in self.refuses if f'"{name}":' in json.dumps(body)), None) or _typeless(body)
        if problem is not None:
            self.refused.append(problem)
            return self._refusal(request.path, problem)
        self.sent.append(body)
        return self._verdict(request.path, body)

    def _refusal(self, path: str, name: str) -> web.Response:
        if path.endswith("/messages"):
            message = ANTHROPIC.get(name, name)
            return web.json_response(
                {"type": "error", "error": {"type": "invalid_request_error", "message": message}}, status=400
            )
        message, code = OPENAI.get(name, (name, "invalid"))
        error = {"message": message, "type": "invalid_request_error", "param": name, "code": code}
        return web.json_response({"error": error}, status=400)

    def _verdict(self, path: str, body: dict[str, Any]) -> web.Response:
        user = next(one["content"] for one in body["messages"] if one["role"] == "user")
        criterion = json.loads(user.split("\n\n")[1])["id"]
        told = {"criterion": criterion, "eligible": True, "verdict": "pass", "rationale": "It holds.", "refs": []}
        if path.endswith("/messages"):
            block = {"type": "tool_use", "id": "t", "name": "verdict", "input": told}
            return web.json_response(
                {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "content": [block]}
            )
        message = {"role": "assistant", "content": json.dumps(told)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return web.json_response({"id": "c", "model": body["model"], "choices": [choice]})


def _typeless(body: dict[str, Any]) -> str | None:
    """A schema node with `enum` and without `type`, which strict providers refuse."""
    schemas = [body.get("response_format", {}).get("json_schema", {}).get("schema", {})]
    schemas += [tool["input_schema"] for tool in body.get("tools", [])]
    nodes = [node for schema in schemas for node in schema.get("properties", {}).values()]
    lacking = [node for node in nodes if "type" not in node]
    return f"schema must have a 'type' key: {lacking[0]}" if lacking else None


@contextmanager
def provider(*refuses: str) -> Iterator[Provider]:
    made = Provider(refuses=refuses)
    with served(made.answer) as url:
        made.url = url
        yield made
