"""A server that puts whatever key it is called with, in every form, wherever it can: tools, models, hosts, trackers."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from qa.soak.canaries import UNDECLARED, forms, shown
from tests.judging.judge.serving import served

_CUT = 7
"""Bytes of one piece of a stream: shorter than any key."""


class Echoing:
    """`changed` makes the tools answer otherwise: they have drifted."""

    def __init__(self) -> None:
        self.changed = False
        self.asked: set[str] = set()
        """The first words of the paths that were asked, so that a test sees which channels were used."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        kind = request.path.split("/")[1]
        self.asked.add(kind)
        key = _key(request)
        match kind:
            case "model" | "judge":
                return await self._model(request, key, body)
            case "repos" | "api" | "collector":
                said = f"you may not, with {shown(key)}"
                return web.json_response({"message": said, "error": said}, status=403, reason=key.split(" ")[0])
            case _:
                return self._tool(request, key)

    def _tool(self, request: web.Request, key: str) -> web.StreamResponse:
        told = {name: f"it is {form.decode('latin-1')}!" for name, form in forms(key).items()}
        value: dict[str, object] = {"plain": f"it is {key}!", key: 1, "deep": [{"forms": told}], "text": shown(key)}
        if not self.changed:
            value["member"] = UNDECLARED
        headers = {"retry-after": base64.b64encode(key.encode()).decode(), "x-echo": key.encode().hex()}
        return web.json_response(value, status=409 if "refuse" in request.path else 200, headers=headers)

    async def _model(self, request: web.Request, key: str, body: bytes) -> web.StreamResponse:
        if not body:  # The list of models is asked for by GET.
            return web.json_response({"object": "list", "data": []})
        asked = json.loads(body)
        if "fail" in json.dumps(asked.get("messages", "")):
            return web.json_response({"error": {"message": f"bad request with {shown(key)}"}}, status=400)
        if not asked.get("stream"):
            choice = {"message": {"role": "assistant", "content": shown(key)}, "finish_reason": "stop", "index": 0}
            return web.json_response({"id": "m-1", "model": "small", "object": "chat.completion", "choices": [choice]})
        response = web.StreamResponse(headers={"content-type": "text/event-stream", "x-key": key.encode().hex()})
        await response.prepare(request)
        stream = b"".join(_event(content) for content in (shown(key), key)) + b"data: [DONE]\n\n"
        for at in range(0, len(stream), _CUT):
            await response.write(stream[at : at + _CUT])
        await response.write_eof()
        return response


def _event(content: str) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": None}
    chunk = {"id": "m-2", "model": "small", "object": "chat.completion.chunk", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _key(request: web.Request) -> str:
    header = request.headers.get("x-collector-key") or request.headers.get("authorization", "none none")
    kind, _, value = header.partition(" ")
    if kind == "Basic":
        return base64.b64decode(value).decode()
    return value or kind


@contextmanager
def echoing() -> Iterator[tuple[str, Echoing]]:
    """Its address, and itself."""
    server = Echoing()
    with served(server.answer, path="") as url:
        yield url, server
