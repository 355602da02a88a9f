"""Answers from the MCP servers of a suite: one connection per server and trial, opened on the first call."""

import asyncio
import json
import shutil
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import aiohttp

from harness.disk import is_file, is_folder
from harness.errors import ServiceError, UsageError
from harness.gateway.budgets import RateLimiter
from harness.gateway.upstream.mcp_connection import (
    Failed,
    Garbled,
    HttpTransport,
    Lost,
    McpConnection,
    Oversized,
    ServerError,
    StdioTransport,
)
from harness.gateway.upstream.sources import Reached, ToolAnswer, ToolMiss, ToolRequest
from harness.sandbox.ownership import temporary_folder
from harness.suite.suites import McpServer, ToolServer
from harness.suite.tools import ToolSpec
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
            return self._tool_answer(RPC_ERROR, error.error)
        except Failed as error:
            return await self._failed(tool, conversation, error)
        except Garbled as error:
            if tool.server in self._services:
                raise ServiceError(f"the MCP server {tool.server!r}, a service, answered with {error}") from None
            return ToolAnswer(outcome="garbled", tier=self._tier, body=str(error).encode("utf-8", "replace"))
        except tuple(_OUTCOMES) as error:
            return ToolAnswer(outcome=_OUTCOMES[type(error)], tier=self._tier)
        if tool.source == "python":
            return self._returned(result)
        return self._tool_answer(SAID_ERROR if result.get("isError") is True else 200, result)

    async def _failed(self, tool: ToolSpec, conversation: McpConnection, failed: Failed) -> ToolAnswer:
        """The tool's own failure at this call. Raises ServiceError if the server fails at any request."""
        try:
            async with asyncio.timeout(tool.timeout_s):
                reason = await conversation.failure()
        except TimeoutError:
            reason = f"no answer within {tool.timeout_s:g} s"
        if reason is not None:
            said = f"the MCP server {tool.server!r} answers no request: {failed}; then {reason}"
            raise ServiceError(said, remedy=HttpTransport.remedy) from None
        return ToolAnswer(outcome="answer", tier=self._tier, status=failed.status, body=failed.body)

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
            return self._tool_answer(SAID_ERROR, structured)
        return ToolAnswer(outcome="answer", tier=self._tier, status=200, body=json.dumps(structured["result"]).encode())

    def _tool_answer(self, status: int, body: JsonObject) -> ToolAnswer:
        text = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        return ToolAnswer(outcome="answer", tier=self._tier, status=status, body=text)


STARTS_WITHIN_S = 60.0
"""A program that installs itself on its first start needs a long time."""


_FUNCTIONS = Path(__file__).with_name("functions.py")


@dataclass(frozen=True, kw_only=True)
class ServerStart:
    """The data for a connection to one server; calling it opens a connection."""

    name: str
    server: ToolServer
    folder: Path
    """The suite's declaration."""
    client: aiohttp.ClientSession
    base_url: str = ""
    headers: Mapping[str, str]
    env: Mapping[str, str]
    """The environment variables, with secrets filled in."""

    def __call__(self, closing: ExitStack) -> McpConnection:
        """`closing` removes the server's working folder."""
        mcp = self.server.mcp
        if self.server.python is not None:
            work = _work_folder(closing, None)
            command = functions_command(self.folder / self.server.python)
            return McpConnection(self.name, StdioTransport(self.name, command, {}, work))
        assert mcp is not None  # other servers are not started here
        if mcp.command:
            work = _work_folder(closing, None if mcp.files is None else self.folder / mcp.files)
            command = filled_command(mcp, self.folder, work)
            return McpConnection(self.name, StdioTransport(self.name, command, self.env, work))
        url = f"{self.base_url.rstrip('/')}{mcp.path}" if self.server.service is not None else self.base_url
        return McpConnection(self.name, HttpTransport(self.name, self.client, url, self.headers))


def filled_command(server: McpServer, suite: Path, work: Path) -> list[str]:
    """The command with its places filled in."""
    return [part.replace("{suite}", str(suite)).replace("{work}", str(work)) for part in server.command]


def functions_command(file: Path) -> list[str]:
    """The program that serves a file's functions; with -P the file's folder cannot shadow the standard library."""
    return [sys.executable, "-P", str(_FUNCTIONS), str(file)]


def check_program(name: str, server: ToolServer, suite: Path) -> None:
    """Checks before any trial that the program exists. Raises UsageError."""
    if server.python is not None and not is_file(suite / server.python):
        raise UsageError(f"server {name!r}: there is no file {server.python!r} in the suite")
    if server.mcp is None or not server.mcp.command:
        return
    program = filled_command(server.mcp, suite, Path("/"))[0]
    if shutil.which(program) is None:
        raise UsageError(
            f"server {name!r}: there is no program {program!r}", remedy="install it, or give its full path"
        )
    if server.mcp.files is not None and not is_folder(suite / server.mcp.files):
        raise UsageError(f"server {name!r}: there is no folder {server.mcp.files!r} in the suite")


def _work_folder(closing: ExitStack, content: Path | None) -> Path:
    folder = closing.enter_context(temporary_folder())
    if content is not None:
        shutil.copytree(content, folder, dirs_exist_ok=True, symlinks=True)
    return folder
