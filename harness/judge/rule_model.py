"""The rule model with an OpenAI- and Anthropic-compatible endpoint on this machine: the public fake of a judge.

It can be configured to fail as real models do; a fault belongs to a criterion, so that its effect does not depend on
the order of requests. `asked` counts the received requests.
"""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Literal, Self

from aiohttp import web

from harness.errors import OutOfTime
from harness.judge.rules import Mind, RuleQuestion, answer, understood
from harness.values import JsonObject

Fault = Literal["prose", "wrong_id", "half_json", "nothing", "refusal", "busy_once", "busy", "timeout", "server_error"]

_MAX_BYTES: Final = 32 * 1024 * 1024
_STATUS: Final[dict[Fault, int]] = {"busy_once": 429, "busy": 429, "server_error": 500}


class RuleModel:
    """Serves from its own thread while it is entered: `with RuleModel(mind) as model: model.url`."""

    def __init__(
        self,
        mind: Mind,
        *,
        faults: Mapping[str, Fault] | None = None,
        latency_s: float = 0.0,
        port: int = 0,
        name: str = "rule-model",
    ) -> None:
        """`faults` maps a criterion id (`*` matches every criterion) to the fault in each answer about it."""
        self.mind = mind
        self.name = name
        self.asked: Counter[str] = Counter()
        """Requests by criterion."""
        self.most_in_flight = 0
        self._in_flight = 0
        self._faults = dict(faults or {})
        self._latency_s = latency_s
        self._port = port
        self._seen: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="rule-model", daemon=True)
        self._ready = threading.Event()
        self._failed: Exception | None = None

    @property
    def url(self) -> str:
        """The base URL as OpenAI's clients take it; Anthropic's take it without `/v1`."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def requests(self) -> int:
        """The number of received requests, including repetitions."""
        return self.asked.total()

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        runner = web.AppRunner(self._app(), access_log=None, shutdown_timeout=0.1)
        try:
            self._loop.run_until_complete(self._open(runner))
        except Exception as error:  # noqa: BLE001 - whoever enters is waiting, and is told whatever it was
            self._failed = error
            self._loop.close()
            self._ready.set()
            return
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(runner.cleanup())
            self._loop.close()

    def _app(self) -> web.Application:
        app = web.Application(client_max_size=_MAX_BYTES)
        app.router.add_post("/v1/chat/completions", self._openai)
        app.router.add_post("/v1/messages", self._anthropic)
        return app

    async def _open(self, runner: web.AppRunner) -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self._port)
        await site.start()
        self._port = runner.addresses[0][1]

    async def _openai(self, request: web.Request) -> web.Response:
        body = await request.json()
        said: dict[str, list[str]] = {"system": [], "user": []}
        for message in body.get("messages", []):
            said.setdefault(message["role"], []).append(str(message.get("content")))
        told = await self._answered("\n".join(said["system"]), "\n".join(said["user"]))
        if isinstance(told, web.Response):
            return told
        message = {"role": "assistant", "content": told if isinstance(told, str) else json.dumps(told)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": len(str(body)) // 4, "completion_tokens": len(str(message)) // 4}
        return web.json_response(
            {
                "id": f"rule-{self.requests}",
                "object": "chat.completion",
                "model": self.name,
                "choices": [choice],
                "usage": usage,
            }
        )

    async def _anthropic(self, request: web.Request) -> web.Response:
        body = await request.json()
        user = "\n".join(str(one.get("content")) for one in body.get("messages", []) if one.get("role") == "user")
        told = await self._answered(str(body.get("system", "")), user)
        if isinstance(told, web.Response):
            return told
        block = (
            {"type": "text", "text": told}
            if isinstance(told, str)
            else {"type": "tool_use", "id": "t1", "name": "verdict", "input": told}
        )
        usage = {"input_tokens": len(str(body)) // 4, "output_tokens": len(str(block)) // 4}
        return web.json_response(
            {
                "id": f"rule-{self.requests}",
                "type": "message",
                "role": "assistant",
                "model": self.name,
                "content": [block],
                "usage": usage,
            }
        )

    async def _answered(self, system: str, user: str) -> JsonObject | str | web.Response:
        question = understood(system, user)
        self.asked[question.criterion] += 1
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        began = time.monotonic()
        try:
            told = await self._spoilt(question, system, user)
        finally:
            await asyncio.sleep(max(0.0, began + self._latency_s - time.monotonic()))
            self._in_flight -= 1
        return told

    async def _spoilt(self, question: RuleQuestion, system: str, user: str) -> JsonObject | str | web.Response:
        fault = self._faults.get(question.criterion) or self._faults.get("*")
        key = json.dumps([system, user])
        nth = self._seen[key]
        self._seen[key] += 1
        if fault == "timeout":
            await asyncio.sleep(3600)
        if fault in _STATUS and not (fault == "busy_once" and nth):
            return web.json_response(
                {"error": {"message": f"made to fail: {fault}"}}, status=_STATUS[fault], headers={"Retry-After": "0"}
            )
        try:
            return _spoken(fault, await asyncio.to_thread(answer, self.mind, question, nth))
        except OutOfTime as error:
            return web.json_response({"error": {"message": f"a rule of this model: {error}"}}, status=422)


def _spoken(fault: Fault | None, given: JsonObject) -> JsonObject | str:
    match fault:
        case "prose":
            return f"Sure! The verdict is: {json.dumps(given)} Hope that helps."
        case "wrong_id":
            return given | {"criterion": f"{given.get('criterion')}_of_another_kind"}
        case "half_json":
            return json.dumps(given)[:40]
        case "nothing":
            return ""
        case "refusal":
            return "I cannot help with that."
        case _:
            return given
