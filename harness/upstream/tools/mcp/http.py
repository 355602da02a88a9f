"""An MCP server over streamable HTTP: one POST for each message, answered with JSON or a stream of events."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

import aiohttp

from harness.errors import ServiceError
from harness.strict_json import NotJson, parse_json
from harness.upstream.sent_body import sent_body
from harness.upstream.tools.http import MAX_ANSWER_BYTES
from harness.upstream.tools.mcp.connection import MODERN, Garbled, Lost, Oversized, ServerError
from harness.values import JsonObject, JsonValue

_ACCEPT = "application/json, text/event-stream"
_SESSION = "Mcp-Session-Id"


class HttpTransport:
    """Stores the session id that the server assigns, and ends the session."""

    def __init__(self, name: str, client: aiohttp.ClientSession, url: str, headers: Mapping[str, str]) -> None:
        self._name = name
        self._client = client
        self._url = url
        self._headers = dict(headers)
        self._session: str | None = None
        self._number = 0

    async def open(self) -> None:
        """Does nothing: the first request opens the connection."""

    async def request(self, method: str, params: JsonObject, version: str | None) -> JsonObject:
        self._number += 1
        number = self._number
        message: JsonObject = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        try:
            async with self._post(message, version) as response:
                self._session = response.headers.get(_SESSION, self._session)
                async for answer in _messages(response):
                    if answer.get("id") == number and "method" not in answer:
                        return _result(answer)
                    if "method" not in answer and answer.get("id") is None and "error" in answer:
                        return _result(answer)
        except aiohttp.ClientConnectorError as error:
            raise ServiceError(f"the MCP server {self._name!r} cannot be reached: {error}") from None
        except aiohttp.ClientResponseError as error:
            raise Garbled(f"something that is not HTTP: {error.message}") from None
        except (aiohttp.ClientError, ConnectionError) as error:
            raise Lost(f"the connection was lost: {error}") from None
        raise Lost("the stream ended without an answer")

    async def notify(self, method: str, version: str | None) -> None:
        try:
            async with self._post({"jsonrpc": "2.0", "method": method}, version) as response:
                await response.read()
        except (aiohttp.ClientError, ConnectionError) as error:
            raise Lost(f"the connection was lost: {error}") from None

    async def close(self) -> None:
        if self._session is None:
            return
        headers = self._headers | {_SESSION: self._session}
        self._session = None
        try:
            ended = self._client.delete(self._url, headers=headers, allow_redirects=False)
            async with asyncio.timeout(2.0), ended as response:
                await response.read()
        except (aiohttp.ClientError, ConnectionError, TimeoutError):
            return  # the server ends the session by itself

    def said(self) -> str:
        return ""

    def _post(self, message: JsonObject, version: str | None) -> "aiohttp.client._RequestContextManager":
        headers = {"Content-Type": "application/json", "Accept": _ACCEPT, **self._headers}
        if version is not None:
            headers["MCP-Protocol-Version"] = version
        if self._session is not None:
            headers[_SESSION] = self._session
        if version == MODERN:
            headers["Mcp-Method"] = str(message["method"])
            params = message.get("params")
            if isinstance(params, dict) and isinstance(params.get("name"), str):
                headers["Mcp-Name"] = str(params["name"])
        body = json.dumps(message, ensure_ascii=False).encode()
        return self._client.post(self._url, data=sent_body(body), headers=headers, allow_redirects=False)


async def _messages(response: aiohttp.ClientResponse) -> AsyncIterator[JsonObject]:
    if response.content_type == "text/event-stream":
        async for text in _events(response):
            yield _message(text)
    elif response.content_type == "application/json":
        yield _message(b"".join([part async for part in _bounded(response)]))
    else:
        raise Garbled(f"status {response.status} and {response.content_type}")


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The data of each event of a stream."""
    buffer = b""
    async for part in _bounded(response):
        buffer = (buffer + part).replace(b"\r\n", b"\n")
        *events, buffer = buffer.split(b"\n\n")
        for event in events:
            lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
            if any(lines):
                yield b"\n".join(lines)


async def _bounded(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    total = 0
    async for part in response.content.iter_any():
        total += len(part)
        if total > MAX_ANSWER_BYTES:
            raise Oversized(f"more than {MAX_ANSWER_BYTES} bytes")
        yield part


def _message(text: bytes) -> JsonObject:
    try:
        value: JsonValue = parse_json(text)
    except NotJson as error:
        raise Garbled(f"something that is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Garbled("something that is not a message")
    return value


def _result(message: JsonObject) -> JsonObject:
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        raise ServerError(error)
    if not isinstance(result, dict):
        raise Garbled("a response without result")
    return result
