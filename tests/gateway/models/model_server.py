"""A real HTTP server that speaks the three wire formats, thinks by rule, and mints new ids in every reply."""

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.gateway.models.other_formats import as_array, gemini

Json = dict[str, Any]


@dataclass(frozen=True)
class Thought:
    """What the model decides to say."""

    text: str | None = None
    calls: tuple[tuple[str, Any], ...] = ()
    """(name, arguments); a text stands for arguments that are not JSON."""
    reasoning: str | None = None


def look_then_answer(results: list[str]) -> Thought:
    """Two parallel calls, then an answer that names what was found."""
    if not results:
        return Thought("Let me look.", (("look", {"q": "egg"}), ("look", {"q": "ham"})), "The guest wants breakfast.")
    return Thought(f"Found: {' '.join(results)}")


@dataclass
class ModelServer:
    """Keeps what it was asked; misbehaves on demand."""

    url: str = ""
    think: Callable[[list[str]], Thought] = look_then_answer
    seen: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    """Path with query, headers in lower case, body."""
    came: list[float] = field(default_factory=list)
    """When, by the monotonic clock."""
    statuses: list[int] = field(default_factory=list)
    """Given before anything else, one a request."""
    said: list[bytes] = field(default_factory=list)
    """Bodies given after these, one a request; a stream if it begins like one."""
    retry_after: str | None = None
    """Told with each of them."""
    pause_s: float = 0.0
    """Between two pieces of a stream."""
    cut_after: int | None = None
    """Pieces of a stream before the connection breaks."""
    tells_usage: bool = True
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    kept: dict[str, list[str]] = field(default_factory=dict)
    """Responses by id: the results that they knew."""

    def mint(self, kind: str) -> str:
        return f"{kind}_{next(self.numbers):08x}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.came.append(time.monotonic())
        self.seen.append((str(request.rel_url), {name.lower(): v for name, v in request.headers.items()}, raw))
        if self.statuses:
            status = self.statuses.pop(0)
            headers = {} if self.retry_after is None else {"Retry-After": self.retry_after}
            return web.json_response({"error": {"message": f"status {status}"}}, status=status, headers=headers)
        if self.said:
            body = self.said.pop(0)
            kind = "text/event-stream" if body[:5] in {b"data:", b"event"} else "application/json"
            return web.Response(body=body, content_type=kind)
        if request.method in {"GET", "HEAD"}:
            return web.json_response({"data": [{"id": "small-1"}]})
        body = json.loads(raw)
        path = _plain(request.path)
        if path.startswith("/"):
            return await self.answer_by_path(request, path, body)
        return await self.answer_by_method(request, path, body)

    async def answer_by_path(self, request: web.Request, path: str, body: Json) -> web.StreamResponse:
        match path:
            case "/v1/chat/completions":
                whole, events = self.chat(body)
            case "/v1/responses":
                whole, events = self.responses(body)
            case "/v1/messages":
                whole, events = self.messages(body)
            case "/v1/embeddings":
                return web.json_response({"data": [{"embedding": [0.5]}], "unknown": {"kept": True}})
            case _:
                return web.json_response({"input_tokens": 7})
        if body.get("stream") is not True:
            return web.json_response(whole)
        return await self.stream(request, [event.encode() for event in events])

    async def answer_by_method(self, request: web.Request, method: str, body: Json) -> web.StreamResponse:
        """Gemini's, whose paths end with one."""
        if method == "generateContent":
            return web.json_response(gemini(self, body)[0])
        chunks = gemini(self, body)[1]
        if request.query.get("alt") == "sse":
            return await self.stream(request, [f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks])
        return await self.stream(request, as_array(chunks), "application/json; charset=UTF-8")

    async def stream(
        self, request: web.Request, events: list[bytes], content_type: str = "text/event-stream; charset=utf-8"
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": content_type})
        await response.prepare(request)
        for number, event in enumerate(events):
            if number == self.cut_after:
                assert request.transport is not None
                request.transport.abort()
                return response
            await response.write(event)
            await asyncio.sleep(self.pause_s)
        return response

    def chat(self, body: Json) -> tuple[Json, list[str]]:
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        thought = self.think(results)
        identity, calls = self.mint("chatcmpl"), []
        for name, arguments in thought.calls:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            calls.append({"id": self.mint("call"), "type": "function", "function": {"name": name, "arguments": text}})
        message: Json = {"role": "assistant", "content": thought.text, "x_unknown": "kept"}
        if thought.reasoning:
            message["reasoning_content"] = thought.reasoning
        if calls:
            message["tool_calls"] = calls
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}}
        reason = "tool_calls" if calls else "stop"
        told = {"id": identity, "object": "chat.completion", "model": "small-1-2026"}
        whole = told | {"choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}
        pieces, told = _pieces(thought, calls), told | {"object": "chat.completion.chunk"}
        events = [told | {"choices": [{"index": 0, "delta": piece, "finish_reason": None}]} for piece in pieces]
        events.append(told | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        if self.tells_usage and (body.get("stream_options") or {}).get("include_usage"):
            events.append(told | {"choices": [], "usage": usage})
        if not self.tells_usage:
            del whole["usage"]
        return whole, [*(f"data: {json.dumps(event)}\n\n" for event in events), "data: [DONE]\n\n"]

    def responses(self, body: Json) -> tuple[Json, list[str]]:
        items = body["input"] if isinstance(body["input"], list) else []
        known = self.kept.get(body.get("previous_response_id") or "", [])
        results = known + [item["output"] for item in items if item.get("type") == "function_call_output"]
        thought = self.think(results)
        identity, output = self.mint("resp"), []
        self.kept[identity] = results
        if thought.reasoning:
            summary = [{"type": "summary_text", "text": thought.reasoning}]
            output.append({"type": "reasoning", "id": self.mint("rs"), "summary": summary})
        if thought.text:
            content = [{"type": "output_text", "text": thought.text}]
            output.append({"type": "message", "id": self.mint("msg"), "role": "assistant", "content": content})
        for name, arguments in thought.calls:
            called = {"call_id": self.mint("call"), "name": name, "arguments": json.dumps(arguments)}
            output.append({"type": "function_call", "id": self.mint("fc"), **called})
        usage = {"input_tokens": 100, "output_tokens": 10, "input_tokens_details": {"cached_tokens": 40}}
        whole: Json = {"id": identity, "object": "response", "model": "small-1-2026", "status": "completed"}
        whole |= {"output": output, "usage": usage}
        events: list[Json] = [{"type": "response.created", "response": {"id": identity, "output": []}}]
        events += [{"type": "response.output_item.done", "item": item} for item in output]
        events.append({"type": "response.completed", "response": whole})
        return whole, [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]

    def messages(self, body: Json) -> tuple[Json, list[str]]:
        blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
        thought = self.think([block["content"] for block in blocks if block["type"] == "tool_result"])
        content: list[Json] = []
        if thought.reasoning:
            content.append({"type": "thinking", "thinking": thought.reasoning, "signature": self.mint("sig")})
        if thought.text:
            content.append({"type": "text", "text": thought.text})
        for name, arguments in thought.calls:
            content.append({"type": "tool_use", "id": self.mint("toolu"), "name": name, "input": arguments})
        usage = {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 10}
        told: Json = {"id": self.mint("msg"), "type": "message", "role": "assistant", "model": "small-1-2026"}
        reason = "tool_use" if thought.calls else "end_turn"
        whole = told | {"content": content, "stop_reason": reason, "usage": usage}
        events: list[Json] = [{"type": "message_start", "message": told | {"content": [], "usage": usage}}]
        for index, block in enumerate(content):
            empty = {"text": {"text": ""}, "thinking": {"thinking": ""}, "tool_use": {"input": {}}}[block["type"]]
            events.append({"type": "content_block_start", "index": index, "content_block": block | empty})
            for delta in _deltas(block):
                events.append({"type": "content_block_delta", "index": index, "delta": delta})
            events.append({"type": "content_block_stop", "index": index})
        events.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 10}})
        events.append({"type": "message_stop"})
        return whole, [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


def _plain(path: str) -> str:
    """OpenAI's path of one of Azure's; the method of one that names a model."""
    for prefix in ("/openai/deployments/small-1", "/openai/v1", "/openai"):
        if path.startswith(f"{prefix}/"):
            return f"/v1{path.removeprefix(prefix)}"
    if "/models/" in path or path.startswith("/model/"):
        return path.replace(":", "/").rpartition("/")[2]
    return path


def _pieces(thought: Thought, calls: list[Json]) -> list[Json]:
    pieces: list[Json] = [{"role": "assistant", "content": ""}]
    if thought.reasoning:
        pieces.append({"reasoning_content": thought.reasoning})
    pieces += [{"content": word} for word in _words(thought.text)]
    for index, call in enumerate(calls):
        name, told = call["function"]["name"], call["function"]["arguments"]
        pieces.append(
            {
                "tool_calls": [
                    {"index": index, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
                ]
            }
        )
        for part in (told[: len(told) // 2], told[len(told) // 2 :]):
            pieces.append({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    return pieces


def _words(text: str | None) -> list[str]:
    words = (text or "").split(" ")
    return [f"{word} " for word in words[:-1]] + words[-1:]


def _deltas(block: Json) -> list[Json]:
    match block["type"]:
        case "text":
            return [{"type": "text_delta", "text": word} for word in _words(block["text"])]
        case "thinking":
            return [{"type": "thinking_delta", "thinking": word} for word in _words(block["thinking"])]
        case _:
            told = json.dumps(block["input"])
            return [{"type": "input_json_delta", "partial_json": part} for part in (told[:3], told[3:])]


@contextmanager
def serve_models(host: str = "127.0.0.1") -> Iterator[ModelServer]:
    """A model server on a port of its own, in a thread of its own."""
    loop = asyncio.new_event_loop()
    server = ModelServer()
    started: list[web.AppRunner] = []

    async def start() -> None:
        application = web.Application(client_max_size=64 * 1024 * 1024)
        application.router.add_route("*", "/{path:.*}", server.answer)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        site = web.TCPSite(runner, host, 0)
        await site.start()
        started.append(runner)
        server.url = f"http://{host}:{runner.addresses[0][1]}"

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(started[0].cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
