"""A double of a model: an endpoint on this machine, OpenAI- and Anthropic-compatible, that a program answers.

class Echo(ModelDouble):
    async def answer(self, asked: DoubleRequest) -> DoubleReply:
        return DoubleReply(text=asked.messages[-1][1])

with Echo(name="echo") as model:
    model.url
"""

import asyncio
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from aiohttp import web

from harness.values import JsonObject

_MAX_BYTES: Final = 32 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class DoubleRequest:
    """A request in any wire format."""

    body: Mapping[str, Any]
    """The body as it was sent."""
    system: str
    messages: tuple[tuple[str, str], ...]
    """Roles and texts of the messages, without the system's."""

    def said_by(self, role: str) -> str:
        """The texts of one role, one for each line."""
        return "\n".join(text for own, text in self.messages if own == role)


@dataclass(frozen=True, kw_only=True)
class DoubleReply:
    """A reply of the double."""

    text: str = ""
    structured: JsonObject | None = None
    """In place of the text: a JSON text in OpenAI's format, the call of the tool that the request forces in
    Anthropic's.
    """
    calls: str | None = None
    """The name of a tool that is called without arguments."""
    filtered: bool = False
    """Whether the provider's content filter ended the answer."""
    cut: bool = False
    """Whether the answer ended at its limit of tokens."""


@dataclass(frozen=True, kw_only=True)
class DoubleError:
    """An error status in place of a reply."""

    status: int
    message: str
    code: str | None = None


class ModelDouble(ABC):
    """Serves from its own thread while it is entered."""

    def __init__(self, *, name: str, port: int = 0, latency_s: float = 0.0) -> None:
        """`latency_s`: the minimum duration of an answer. Port 0 selects a free port."""
        self.name = name
        self.requests = 0
        """The received requests, including retries."""
        self.most_in_flight = 0
        self._in_flight = 0
        self._latency_s = latency_s
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._ready = threading.Event()
        self._failed: Exception | None = None

    @abstractmethod
    async def answer(self, asked: DoubleRequest) -> DoubleReply | DoubleError:
        """The answer to one request; called on the server's thread."""

    @property
    def url(self) -> str:
        """The base URL for OpenAI's clients; Anthropic's clients expect it without `/v1`."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=_MAX_BYTES)
        app.router.add_post("/v1/chat/completions", self._openai)
        app.router.add_post("/v1/messages", self._anthropic)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        try:
            self._loop.run_until_complete(self._open(runner))
        except Exception as error:  # noqa: BLE001 - reported to the thread that waits in `__enter__`
            self._failed = error
            self._loop.close()
            self._ready.set()
            return
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._end(runner))
            self._loop.close()

    async def _open(self, runner: web.AppRunner) -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self._port).start()
        self._port = runner.addresses[0][1]

    async def _end(self, runner: web.AppRunner) -> None:
        """Ends the server, and the answers whose clients have gone, which aiohttp leaves running."""
        await runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _openai(self, request: web.Request) -> web.Response:
        body = await request.json()
        turns = _turns(body)
        system = "\n".join(text for role, text in turns if role == "system")
        messages = tuple(turn for turn in turns if turn[0] != "system")
        reply = await self._timed(DoubleRequest(body=body, system=system, messages=messages))
        if isinstance(reply, DoubleError):
            return _error_response(reply)
        text = reply.text if reply.structured is None else json.dumps(reply.structured)
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if reply.calls is not None:
            function = {"name": reply.calls, "arguments": "{}"}
            message["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
        reason = "content_filter" if reply.filtered else "length" if reply.cut else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        read, written = _estimated_tokens(body, message)
        usage = {"prompt_tokens": read, "completion_tokens": written}
        return web.json_response(
            {"id": self._id, "object": "chat.completion", "model": self.name, "choices": [choice], "usage": usage}
        )

    async def _anthropic(self, request: web.Request) -> web.Response:
        body = await request.json()
        reply = await self._timed(
            DoubleRequest(body=body, system=str(body.get("system", "")), messages=tuple(_turns(body)))
        )
        if isinstance(reply, DoubleError):
            return _error_response(reply)
        content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
        if reply.structured is not None:
            forced = (body.get("tool_choice") or {}).get("name", "answer")
            content = [{"type": "tool_use", "id": "t1", "name": forced, "input": reply.structured}]
        if reply.calls is not None:
            content.append({"type": "tool_use", "id": "t1", "name": reply.calls, "input": {}})
        read, written = _estimated_tokens(body, content)
        return web.json_response(
            {
                "id": self._id,
                "type": "message",
                "role": "assistant",
                "model": self.name,
                "content": content,
                "stop_reason": "refusal" if reply.filtered else "max_tokens" if reply.cut else "end_turn",
                "usage": {"input_tokens": read, "output_tokens": written},
            }
        )

    @property
    def _id(self) -> str:
        return f"{self.name}-{self.requests}"

    async def _timed(self, asked: DoubleRequest) -> DoubleReply | DoubleError:
        self.requests += 1
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        until = self._loop.time() + self._latency_s
        try:
            reply = await self.answer(asked)
            await asyncio.sleep(max(0.0, until - self._loop.time()))
            return reply
        finally:
            self._in_flight -= 1


def _turns(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(str(one.get("role")), str(one.get("content"))) for one in body.get("messages", [])]


def _error_response(error: DoubleError) -> web.Response:
    said = {"message": error.message} | ({} if error.code is None else {"code": error.code})
    return web.json_response({"error": said}, status=error.status, headers={"Retry-After": "0"})


def _estimated_tokens(body: object, said: object) -> tuple[int, int]:
    """About how many tokens were read and written: four characters each."""
    return len(json.dumps(body)) // 4, len(json.dumps(said)) // 4 + 1
