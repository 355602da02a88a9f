"""Answers from a real service over HTTP."""

import asyncio
import json
import re
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
from pydantic import JsonValue
from yarl import URL

from harness.errors import ServiceError
from harness.gateway.budgets import RateLimiter, Waits
from harness.gateway.toolbox import parameter_text
from harness.gateway.upstream.sources import Reached, ToolAnswer, ToolMiss, ToolRequest
from harness.gateway.upstream.transport import (
    LOST,
    DecodedBody,
    RetriedCall,
    begun,
    header_text,
    is_readable,
    outcome_of,
    sent_body,
)
from harness.processes import subprocess_environment
from harness.suite.hosts import Reset
from harness.suite.suites import Suite
from harness.suite.tools import HttpRoute
from harness.values import ExceedsBounds, JsonObject, NotJson, canonical_json, parse_json

MAX_ANSWER_BYTES = 16 * 1024 * 1024
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_OF_THE_CONNECTION = frozenset(
    {"age", "connection", "date", "keep-alive", "server", "set-cookie", "transfer-encoding", "via"}
)
"""Headers of a HEAD answer that do not describe the resource."""


@dataclass(frozen=True, kw_only=True)
class ToolUpstream:
    """A tool server, for the calls of one trial."""

    base_url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    service: str | None = None
    """The environment's service; None for an external server."""
    retries: int = 0
    """The number of retries of live reads; see `harness.gateway.upstream.transport`."""


class HttpSource:
    """Calls the servers of a suite for one trial. Redirects are not followed and cookies not kept.

    Raises ServiceError if a service of the environment has ended.
    """

    def __init__(
        self,
        client: aiohttp.ClientSession,
        upstreams: Mapping[str, ToolUpstream],
        limiter: RateLimiter,
        tier: Reached,
        waits: Waits = nullcontext,
    ) -> None:
        self._client = client
        self._upstreams = upstreams
        self._limiter = limiter
        self._tier: Reached = tier
        self._waits = waits

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        upstream = self._upstreams[request.tool.server]
        again = upstream.retries if self._tier == "live" and request.tool.effect == "read" else 0
        tries = RetriedCall(again, request.tool.timeout_s)
        with self._waits() if upstream.service is None else nullcontext():
            answer = await self._answer(request, tries)
        return replace(answer, retried=tuple(tries.lost)) if tries.lost else answer

    async def _answer(self, request: ToolRequest, tries: RetriedCall) -> ToolAnswer:
        try:
            if self._tier == "live":
                await self._limiter.wait(request.tool)
            async with asyncio.timeout(request.tool.timeout_s):
                return await tries(partial(self._send, request, tries))
        except LOST as error:
            service = self._upstreams[request.tool.server].service
            return ToolAnswer(outcome=outcome_of(error, service, request.tool.name), tier=self._tier)

    def _refuse_no_json(self, request: ToolRequest, service: str, content: bytes) -> None:
        """A service is part of the trial's environment: its invalid answers are not failures of the agent."""
        try:
            parse_json(content)
        except ExceedsBounds:
            return  # an agent can bring that about, by what it has the service keep: its call fails, not the harness
        except NotJson as error:
            raise ServiceError(
                f"service {service!r} answered {request.tool.name} with something that is not JSON: {error}",
                remedy="correct the service: its answers are JSON over HTTP",
            ) from None

    async def _send(self, request: ToolRequest, tries: RetriedCall) -> ToolAnswer:
        if tries.lost:
            await self._limiter.wait(request.tool)
        upstream = self._upstreams[request.tool.server]
        route = request.tool.http
        assert route is not None  # the caller has checked the tool's source
        body = _request_body(route, request.arguments)
        headers = dict(upstream.headers) | ({} if body is None else {"Content-Type": "application/json"})
        url = route_url(upstream.base_url, route, request.arguments)
        asked = self._client.request(route.method, url, data=sent_body(body), headers=headers, allow_redirects=False)
        async with await begun(asked) as response:
            if not is_readable(response.headers):
                return ToolAnswer(outcome="garbled", tier=self._tier, body=b"in an encoding that was not asked for")
            content, received = bytearray(), DecodedBody(response)
            while piece := await received.readany():
                content += piece
                if len(content) > MAX_ANSWER_BYTES:
                    return ToolAnswer(outcome="oversized", tier=self._tier, status=response.status)
            if upstream.service is not None and response.status < 300 and content and not request.probe:
                self._refuse_no_json(request, upstream.service, bytes(content))
            headers = {str(name).lower(): header_text(value) for name, value in response.headers.items()}
            found = response.status < 300 and route.method == "HEAD"
            return ToolAnswer(
                outcome="answer",
                tier=self._tier,
                status=response.status,
                headers=headers,
                body=_head_result(response.status, headers) if found else bytes(content),
            )


def _head_result(status: int, headers: Mapping[str, str]) -> bytes:
    """The result of a tool with the method HEAD, whose answer has no body."""
    response_headers: JsonObject = {name: value for name, value in headers.items() if name not in _OF_THE_CONNECTION}
    return canonical_json({"status": status, "headers": response_headers}).encode()


def _quoted_items(value: JsonValue) -> list[str]:
    return [quote(parameter_text(item), safe="") for item in (value if isinstance(value, list) else [value])]


def route_url(base_url: str, route: HttpRoute, arguments: JsonObject) -> URL:
    """The address of one call; each argument stays inside its own path segment or query parameter."""
    path = _PLACEHOLDER.sub(lambda found: ",".join(_quoted_items(arguments[found[1]])), route.path)
    pairs: list[str] = []
    for parameter, argument, separator in route.queried():
        value = arguments.get(argument)
        if value is not None:
            items = _quoted_items(value)
            values = [quote(separator, safe=",").join(items)] if separator else items
            pairs += [f"{quote(parameter, safe='')}={text}" for text in values]
    query = f"?{'&'.join(pairs)}" if pairs else ""
    return URL(f"{base_url.rstrip('/')}/{path.lstrip('/')}{query}", encoded=True)


def _request_body(route: HttpRoute, arguments: JsonObject) -> bytes | None:
    if route.body == "none":
        return None
    if route.body == "body":
        return canonical_json(arguments["body"]).encode() if "body" in arguments else None
    elsewhere = {*_PLACEHOLDER.findall(route.path), *(argument for _, argument, _ in route.queried())}
    rest = {name: value for name, value in arguments.items() if name not in elsewhere}
    return canonical_json(rest).encode()


_SHOWN = 500


def declared_resets(suite: Suite) -> dict[str, Reset]:
    """Server -> its declared reset."""
    return {name: server.reset for name, server in suite.reached.items() if server.reset is not None}


class Resets:
    """Resets the servers of a suite before each trial, and holds the next trial back until this one has ended."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._in_use = threading.Lock()

    def before_trial(
        self,
        upstreams: Mapping[str, ToolUpstream],
        client: aiohttp.ClientSession,
        wait_for: Callable[[Coroutine[Any, Any, None]], None],
        closing: ExitStack,
    ) -> None:
        """Waits for the previous trial to end, then resets. Raises ServiceError."""
        if declared_resets(self._suite):
            self._in_use.acquire()
            closing.callback(self._in_use.release)
            wait_for(reset_servers(self._suite, upstreams, client, declared_resets(self._suite)))


async def reset_servers(
    suite: Suite, upstreams: Mapping[str, ToolUpstream], client: aiohttp.ClientSession, names: Iterable[str]
) -> None:
    """Resets the named servers by their declared resets. Raises ServiceError that names the server and the problem."""
    declared = declared_resets(suite)
    for name in names:
        reset = declared[name]
        try:
            async with asyncio.timeout(reset.timeout_s):
                if reset.path is None:
                    problem = await _run(reset.command, suite.folder)
                else:
                    problem = await _request(upstreams[name], reset, client)
        except TimeoutError:
            problem = f"it took longer than {reset.timeout_s:g} s"
        except (OSError, aiohttp.ClientError) as error:
            problem = str(error) or type(error).__name__
        if problem is not None:
            raise ServiceError(
                f"server {name!r} could not be reset: {problem}",
                remedy=f"check `servers.{name}.reset` in {suite.folder / 'suite.yaml'}",
            )


async def _request(upstream: ToolUpstream, reset: Reset, client: aiohttp.ClientSession) -> str | None:
    body = None if reset.body is None else json.dumps(reset.body).encode()
    headers = dict(upstream.headers) | ({} if body is None else {"Content-Type": "application/json"})
    url = f"{upstream.base_url.rstrip('/')}{reset.path}"
    async with client.request(reset.method, url, data=body, headers=headers, allow_redirects=False) as response:
        said = (await DecodedBody(response).readany())[:_SHOWN].decode("utf-8", "replace")
    if response.status < 300:
        return None
    redirect = ", a redirect, which is not followed" if response.status < 400 else ""
    return f"{reset.method} {reset.path} answered {response.status}{redirect}: {said}"


async def _run(command: Sequence[str], folder: Path) -> str | None:
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=subprocess_environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, said = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode == 0:
        return None
    return f"{command[0]} exited with status {process.returncode}: {said.decode('utf-8', 'replace')[-_SHOWN:]}"
