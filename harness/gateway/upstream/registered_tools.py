"""Answers from tool sources of packages and suites (`harness.tool_source`), each opened once per trial."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import nullcontext
from typing import Any, TypeVar

from harness.errors import GatewayError, ServiceError, UsageError
from harness.gateway.budgets import RateLimiter, Waits
from harness.gateway.upstream.sources import Reached, ToolAnswer, ToolMiss, ToolRequest
from harness.plugins import described
from harness.suite.suites import Suite, ToolServer
from harness.suite.tool_sources import OpenToolSource, SourceContext, ToolResult, declared_tool_source
from harness.values import JsonObject

MAX_ANSWER_BYTES = 16 * 1024 * 1024
ERROR_STATUS = 400
"""The status of a result with `is_error`: the tool reported an error."""
_WITHIN_S = 60.0
"""The time limit of a tool source for its listing, and for closing."""

T = TypeVar("T")
Open = Callable[[], OpenToolSource]


class RegisteredSource:
    """Calls the tool sources of a suite for one trial; each is opened by its first call."""

    def __init__(
        self, opens: Mapping[str, Open], limiter: RateLimiter, tier: Reached, waits: Waits = nullcontext
    ) -> None:
        """`opens` maps the name of each server to the function that opens its source."""
        self._opens = opens
        self._limiter = limiter
        self._tier: Reached = tier
        self._waits = waits
        self._opened_source: dict[str, OpenToolSource] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        """The trial's own, so that a source that blocks it delays no other trial."""

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        """Raises GatewayError for a defect of the tool source."""
        tool = request.tool
        if self._tier == "live":
            await self._limiter.wait(tool)
        try:
            with self._waits():
                async with asyncio.timeout(tool.timeout_s):
                    source = await self._there(self._source_of(tool.server))
                    result = await self._there(source.call(tool.source_name or tool.name, dict(request.arguments)))
        except GatewayError:
            raise
        except TimeoutError:
            return ToolAnswer(outcome="timeout", tier=self._tier)
        except ConnectionRefusedError:
            return ToolAnswer(outcome="unreachable", tier=self._tier)
        except ConnectionError:
            return ToolAnswer(outcome="reset", tier=self._tier)
        except UsageError as error:
            raise _refusal(tool.server, error) from error
        except Exception as error:  # a plug-in's own code
            raise _defect(tool.server, f"raised {described(error)} when {tool.name!r} was called") from error
        return self._tool_answer(tool.server, tool.name, result)

    async def close(self) -> None:
        """Closes every source that was opened. Raises GatewayError for the first that does not close."""
        problems = [
            await _closed(server, self._there(source.close())) for server, source in self._opened_source.items()
        ]
        self._opened_source.clear()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
        for problem in problems:
            if problem is not None:
                raise problem

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits work on the trial's own loop."""
        if self._loop is None:
            runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
            self._loop = runner.get_loop()
            threading.Thread(target=_serve, args=(runner,), name="harness-tool-source", daemon=True).start()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _source_of(self, server: str) -> OpenToolSource:
        if server not in self._opened_source:
            try:
                self._opened_source[server] = _opened_source(server, self._opens[server])
            except UsageError as error:
                raise _refusal(server, error) from error
        return self._opened_source[server]

    def _tool_answer(self, server: str, tool: str, result: object) -> ToolAnswer:
        if not isinstance(result, ToolResult):
            raise _defect(server, f"answered {tool!r} with {type(result).__name__}, expected a ToolResult")
        try:
            body = json.dumps(result.value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        except (TypeError, ValueError, RecursionError) as error:
            raise _defect(server, f"answered {tool!r} with a value that is not JSON: {error}") from None
        if len(body) > MAX_ANSWER_BYTES:
            return ToolAnswer(outcome="oversized", tier=self._tier)
        return ToolAnswer(outcome="answer", tier=self._tier, status=ERROR_STATUS if result.is_error else 200, body=body)


def _serve(runner: asyncio.Runner) -> None:
    with runner:
        runner.get_loop().run_forever()


def registered_sources(suite: Suite, secrets: Mapping[str, str]) -> dict[str, Open]:
    """Server -> the function that opens its tool source, for servers with a tool source."""
    return {
        name: _opening(name, server, suite, secrets)
        for name, server in suite.servers.items()
        if server.tool_source is not None
    }


def _opening(name: str, server: ToolServer, suite: Suite, secrets: Mapping[str, str]) -> Open:
    source = declared_tool_source(server.tool_source or "", server.parameters, suite.folder)
    context = SourceContext(server=name, folder=suite.folder, secrets=dict(secrets))
    return lambda: source.open(context)


async def registered_listing(server: str, open_source: Open) -> list[JsonObject]:
    """The tools that the source describes now. Raises ServiceError if it cannot be queried, or lists no tools, and
    the UsageError by which the source refuses its parameters or its files.
    """
    source = _opened_source(server, open_source)
    try:
        tools = await _within(server, "its tools", "listed its tools", source.tools())
    finally:
        problem = await _closed(server, source.close())
    if problem is not None:
        raise problem
    found = list(tools)
    for tool in found:
        named = isinstance(tool, dict) and isinstance(tool.get("name"), str) and tool["name"]
        if not named or not isinstance(tool.get("inputSchema"), dict):
            raise ServiceError(
                f"tool source of server {server!r}: expected tools with a `name` and an `inputSchema`, found"
                f" {str(tool)[:200]!r}",
                remedy="see docs/how-to/extend/tool-source.md",
            )
    return found


def _opened_source(server: str, open_source: Open) -> OpenToolSource:
    try:
        return open_source()
    except UsageError:
        raise
    except Exception as error:  # a plug-in's own code
        raise _defect(server, f"raised {described(error)} when it was opened") from error


async def _closed(server: str, closing: Awaitable[None]) -> GatewayError | ServiceError | None:
    try:
        await _within(server, "its end", "was closed", closing)
    except (GatewayError, ServiceError) as error:
        return error
    except UsageError as error:
        return _refusal(server, error)
    return None


async def _within(server: str, what: str, while_it: str, asked: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(_WITHIN_S):
            return await asked
    except (TimeoutError, ConnectionError) as error:
        reason = str(error) or f"no answer within {_WITHIN_S:g} s"
        raise ServiceError(f"tool source of server {server!r}: {what} cannot be read: {reason}") from error
    except UsageError:
        raise
    except Exception as error:  # a plug-in's own code
        raise _defect(server, f"raised {described(error)} when it {while_it}") from error


def _refusal(server: str, error: UsageError) -> GatewayError:
    """What the source refuses during a trial ends that trial, and does not end the run as a wrong command would."""
    return GatewayError(f"tool source of server {server!r}: {error.message}", remedy=error.remedy)


def _defect(server: str, what: str) -> GatewayError:
    return GatewayError(
        f"tool source of server {server!r} {what}",
        remedy="correct the tool source: what a tool does wrong is a ToolResult with is_error=True",
    )
