"""Answers from a real service over HTTP."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import quote, unquote, urlencode

import aiohttp
from yarl import URL

from harness.case import HttpRoute, ToolSpec
from harness.errors import ServiceError
from harness.strict_json import ExceedsBounds, NotJson, parse_json
from harness.upstream.client import header_text
from harness.upstream.rate import RateLimiter
from harness.upstream.retrying import RetriedCall, begun
from harness.upstream.sent_body import sent_body
from harness.upstream.tools.source import Reached, ToolAnswer, ToolMiss, ToolRequest
from harness.upstream.waiting import Waits
from harness.values import JsonObject, JsonValue, canonical_json

MAX_ANSWER_BYTES = 16 * 1024 * 1024
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_CHUNK = 65_536
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
    """The number of retries of live reads; see `harness.upstream.retrying`."""


class HttpSource:
    """Calls the servers of a suite for one trial. Redirects are not followed and cookies not kept.

    Raises ServiceError where a service of the environment has ended.
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
        except TimeoutError:
            return ToolAnswer(outcome="timeout", tier=self._tier)
        except aiohttp.ClientConnectorError as error:
            return self._unreachable(request, error)
        except aiohttp.ClientResponseError as error:
            self._refuse_garbage(request, f"something that is not HTTP: {error.message}")
            return ToolAnswer(outcome="garbled", tier=self._tier)
        except (aiohttp.ClientError, ConnectionError):
            return ToolAnswer(outcome="reset", tier=self._tier)

    def _unreachable(self, request: ToolRequest, error: aiohttp.ClientConnectorError) -> ToolAnswer:
        service = self._upstreams[request.tool.server].service
        if service is not None:
            # The harness started it for the trial, so its absence is not a failure of the agent or the tool.
            raise ServiceError(f"service {service!r} cannot be reached any more: {error}") from error
        return ToolAnswer(outcome="unreachable", tier=self._tier)

    def _refuse_garbage(self, request: ToolRequest, what: str) -> None:
        """A service is part of the trial's environment: its invalid answers are not failures of the agent."""
        service = self._upstreams[request.tool.server].service
        if service is not None:
            raise ServiceError(
                f"service {service!r} answered {request.tool.name} with {what}",
                remedy="correct the service: its answers are JSON over HTTP",
            )

    def _refuse_no_json(self, request: ToolRequest, content: bytes) -> None:
        try:
            parse_json(content)
        except ExceedsBounds:
            return  # an agent can bring that about, by what it has the service keep: its call fails, not the harness
        except NotJson as error:
            self._refuse_garbage(request, f"something that is not JSON: {error}")

    async def _send(self, request: ToolRequest, tries: RetriedCall) -> ToolAnswer:
        if tries.lost:
            await self._limiter.wait(request.tool)
        upstream = self._upstreams[request.tool.server]
        route = request.tool.http
        assert route is not None  # the caller has checked the tool's source
        body = _body(route, request.arguments)
        headers = dict(upstream.headers) | ({} if body is None else {"Content-Type": "application/json"})
        url = route_url(upstream.base_url, route, request.arguments)
        asked = self._client.request(route.method, url, data=sent_body(body), headers=headers, allow_redirects=False)
        async with await begun(asked) as response:
            content = bytearray()
            async for chunk in response.content.iter_chunked(_CHUNK):
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    return ToolAnswer(outcome="oversized", tier=self._tier, status=response.status)
            if upstream.service is not None and response.status < 300 and content and not request.probe:
                self._refuse_no_json(request, bytes(content))
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


def unroutable(tool: ToolSpec, arguments: JsonObject) -> str | None:
    """Why the arguments would make a path outside of the tool's route; None: they do not."""
    if tool.http is None:
        return None
    for name in _PLACEHOLDER.findall(tool.http.path):
        value = arguments.get(name)
        if isinstance(value, dict | list | None) or not _text(value) or _climbs(_text(value)):
            return f"$.{name}: {canonical_json(value)} cannot stand in the path {tool.http.path!r}"
    return None


def _climbs(text: str) -> bool:
    """Whether a server that decodes the value up to twice more may leave the path; also for a NUL byte."""
    decoded = unquote(unquote(text)).replace("\\", "/")
    return "\0" in decoded or any(part.partition(";")[0] in {".", ".."} for part in decoded.split("/"))


def route_url(base_url: str, route: HttpRoute, arguments: JsonObject) -> URL:
    """The address of one call; each argument stays inside its own path segment or query parameter."""
    path = _PLACEHOLDER.sub(lambda found: quote(_text(arguments[found[1]]), safe=""), route.path)
    pairs: list[tuple[str, str]] = []
    for parameter, source in route.query.items():
        value = arguments.get(source.strip("{}"))
        if value is not None:
            pairs += [(parameter, _text(item)) for item in (value if isinstance(value, list) else [value])]
    query = f"?{urlencode(pairs, quote_via=quote)}" if pairs else ""
    return URL(f"{base_url.rstrip('/')}/{path.lstrip('/')}{query}", encoded=True)


def _body(route: HttpRoute, arguments: JsonObject) -> bytes | None:
    if route.body == "none":
        return None
    if route.body == "body":
        return canonical_json(arguments["body"]).encode() if "body" in arguments else None
    elsewhere = {*_PLACEHOLDER.findall(route.path), *(source.strip("{}") for source in route.query.values())}
    rest = {name: value for name, value in arguments.items() if name not in elsewhere}
    return canonical_json(rest).encode()


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value)
