"""Answers from the MCP servers of a suite: one connection per server and trial, opened on the first call."""

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from typing import Literal

from harness.errors import ServiceError
from harness.upstream.rate import RateLimiter
from harness.upstream.tools.mcp.connection import Garbled, Lost, McpConnection, Oversized, ServerError
from harness.upstream.tools.source import Reached, ToolAnswer, ToolMiss, ToolRequest
from harness.values import JsonObject

SAID_ERROR = 400
"""The status of a result with `isError`: the tool reported an error."""
RPC_ERROR = 422
"""The status of a JSON-RPC error: the body is its `error` member."""

_OUTCOMES: dict[type[Exception], Literal["timeout", "reset", "oversized", "garbled"]] = {
    TimeoutError: "timeout",
    Lost: "reset",
    Oversized: "oversized",
    Garbled: "garbled",
}
Begin = Callable[[ExitStack], McpConnection]


class McpSource:
    """Calls the servers for one trial. The answer of a server is passed on unchanged."""

    def __init__(
        self, begin: Mapping[str, Begin], limiter: RateLimiter, tier: Reached, services: Collection[str] = ()
    ) -> None:
        """`services` are the servers that are services of the environment, whose invalid answers are not failures of a
        tool.
        """
        self._services = frozenset(services)
        self._begin = begin
        self._limiter = limiter
        self._tier: Reached = tier
        self._begun: dict[str, McpConnection] = {}
        self._turns = {name: asyncio.Lock() for name in begin}
        self._closing = ExitStack()

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        tool = request.tool
        if self._tier == "live":
            await self._limiter.wait(tool)
        conversation = await self._conversation(tool.server)
        try:
            async with asyncio.timeout(tool.timeout_s):
                result = await conversation.call(tool.source_name or tool.name, request.arguments)
        except ServerError as error:
            return self._answer(RPC_ERROR, error.error)
        except Garbled as error:
            if tool.server in self._services:
                raise ServiceError(f"the MCP server {tool.server!r}, a service, answered with {error}") from None
            return ToolAnswer(outcome="garbled", tier=self._tier)
        except tuple(_OUTCOMES) as error:
            return ToolAnswer(outcome=_OUTCOMES[type(error)], tier=self._tier)
        if tool.source == "python":
            return self._returned(result)
        return self._answer(SAID_ERROR if result.get("isError") is True else 200, result)

    async def close(self) -> None:
        """Closes every connection, and ends its processes."""
        try:
            await asyncio.gather(*(conversation.close() for conversation in self._begun.values()))
        finally:
            self._closing.close()

    async def _conversation(self, server: str) -> McpConnection:
        async with self._turns[server]:
            if server not in self._begun:
                conversation = self._begin[server](self._closing)
                self._begun[server] = conversation
                try:
                    async with asyncio.timeout(STARTS_WITHIN_S):
                        await conversation.open()
                except TimeoutError:
                    raise ServiceError(
                        f"the MCP server {server!r} did not answer within {STARTS_WITHIN_S:g} s"
                    ) from None
            return self._begun[server]

    def _returned(self, result: JsonObject) -> ToolAnswer:
        """A function's answer is its return value or exception, not the form in which MCP carries it."""
        structured = result.get("structuredContent")
        assert isinstance(structured, dict)  # the harness's own program wrote it
        if result.get("isError") is True:
            return self._answer(SAID_ERROR, structured)
        return ToolAnswer(outcome="answer", tier=self._tier, status=200, body=json.dumps(structured["result"]).encode())

    def _answer(self, status: int, body: JsonObject) -> ToolAnswer:
        text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return ToolAnswer(outcome="answer", tier=self._tier, status=status, body=text)


STARTS_WITHIN_S = 60.0
"""A program that installs itself on its first start needs a long time."""
