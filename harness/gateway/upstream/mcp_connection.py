"""Connections to MCP servers: the handshake, requests and answers, over HTTP or a program's standard streams."""

import asyncio
import contextlib
import json
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import aiohttp
from pydantic import JsonValue
from yarl import URL

from harness import __version__
from harness.errors import ServiceError
from harness.gateway.upstream.http_tools import MAX_ANSWER_BYTES
from harness.gateway.upstream.transport import DecodedBody, is_readable, sent_body
from harness.processes import subprocess_environment
from harness.sandbox.ownership import owned_environment
from harness.text import shortened
from harness.values import JsonObject, NotJson, object_of, parse_json

VERSION = "2025-11-25"
MODERN = "2026-07-28"
_KNOWN = ("2024-11-05", "2025-03-26", "2025-06-18", VERSION)
_CLIENT: JsonObject = {"name": "trial-harness", "version": __version__}
_MAX_PAGES = 1000
_SESSIONS_AT_MOST = 3


class Lost(Exception):
    """The server has ended, or closed the connection before its answer."""


class Oversized(Exception):
    """The answer of the server exceeds the size limit."""


class Garbled(Exception):
    """The server's answer violates the protocol."""


class Failed(Exception):
    """The server answered with a status of failure, and with nothing of the protocol."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"status {status} {shortened(body.decode('utf-8', 'replace'), _SHOWN)}".strip())
        self.status = status
        self.body = body


class SessionLost(Exception):
    """The server no longer knows the session, and has not taken the request."""


class ServerError(Exception):
    """The server answered with a JSON-RPC error: `error` is that member, unchanged."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(str(error.get("message", "")))
        self.error = error


class McpConnection:
    """Communicates with one server after the handshake; a server without a handshake is supported too."""

    def __init__(self, name: str, channel: "HttpTransport | StdioTransport") -> None:
        self._name = name
        self._channel = channel
        self._version: str | None = None
        self._sessions = 0
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        """Negotiates a version. Raises ServiceError with the server's output."""
        await self._channel.open()
        await self._begin_session()

    async def _begin_session(self) -> None:
        try:
            try:
                await self._shake_hands()
            except ServerError:
                await self._discover()
        except (ServerError, Failed, Lost, SessionLost, Oversized, Garbled) as error:
            written = self._channel.said()
            raise ServiceError(
                f"the MCP server {self._name!r} did not start: {error}" + (f"\n{written}" if written else ""),
                remedy=self._channel.remedy,
            ) from None
        self._sessions += 1

    async def tools(self) -> list[JsonObject]:
        """All pages of its listing, unchanged."""
        tools: list[JsonObject] = []
        cursor: JsonValue = None
        for _ in range(_MAX_PAGES):
            page = await self._ask("tools/list", {} if cursor is None else {"cursor": cursor})
            listed = page.get("tools")
            tools += [tool for tool in listed if isinstance(tool, dict)] if isinstance(listed, list) else []
            cursor = page.get("nextCursor")
            if cursor is None:
                return tools
        raise ServiceError(f"the MCP server {self._name!r} lists more than {_MAX_PAGES} pages of tools")

    async def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        """The CallToolResult, unchanged. Raises ServerError, Failed, Lost, Oversized or Garbled."""
        return await self._ask("tools/call", {"name": tool, "arguments": arguments})

    async def failure(self) -> str | None:
        """How the server fails at a request that has nothing of the agent; None: it answers it."""
        try:
            await self._ask("tools/list", {})
        except (Failed, Lost, Oversized, Garbled) as error:
            return str(error)
        except ServerError:
            pass
        return None

    async def close(self) -> None:
        await self._channel.close()

    async def _shake_hands(self) -> None:
        params: JsonObject = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": _CLIENT}
        result = await self._channel.request("initialize", params, None)
        version = result.get("protocolVersion")
        if version not in _KNOWN:
            raise Garbled(f"it speaks version {version!r} of the protocol")
        self._version = str(version)
        await self._channel.notify("notifications/initialized", self._version)

    async def _discover(self) -> None:
        self._version = MODERN
        result = await self._channel.request("server/discover", {"_meta": _modern_meta()}, MODERN)
        versions = result.get("supportedVersions")
        if not isinstance(versions, list) or MODERN not in versions:
            raise Garbled(f"it speaks the versions {versions!r} of the protocol")

    async def _ask(self, method: str, params: JsonObject) -> JsonObject:
        if self._version == MODERN:
            params = params | {"_meta": _modern_meta()}
        for _ in range(_SESSIONS_AT_MOST):
            session = self._sessions
            try:
                return await self._channel.request(method, params, self._version)
            except SessionLost:
                async with self._turn:
                    if session == self._sessions:
                        await self._begin_session()
        raise ServiceError(
            f"the MCP server {self._name!r} lost {_SESSIONS_AT_MOST} sessions within one request",
            remedy="if several servers share the address, send the requests of one session to the same server",
        )


def _modern_meta() -> JsonObject:
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": _CLIENT,
    }


_ACCEPT = "application/json, text/event-stream"
_SESSION = "Mcp-Session-Id"
_REDIRECTS_AT_MOST = 5


class HttpTransport:
    """Stores the session id that the server assigns, and ends the session. Follows redirects within the origin."""

    remedy = "check `mcp.base_url` and `headers` of the server in the suite's `tools:`, and that it answers there"

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
        """Returns the `result`. Raises ServerError, Failed, Lost, SessionLost, Oversized or Garbled. `initialize`
        begins a new session.
        """
        self._number += 1
        number = self._number
        message: JsonObject = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self._session = session = None if method == "initialize" else self._session
        try:
            async with await self._post(message, version) as response:
                if response.status == _NOT_FOUND and session is not None:
                    raise self._session_lost(session)
                self._session = response.headers.get(_SESSION, self._session)
                if response.status in _REFUSING or response.status >= _FAILING:
                    return _result_of(await _own_answer(response, number))
                async for answer in _messages(response):
                    if answer.get("id") == number and "method" not in answer:
                        return _result_of(answer)
                    if "method" not in answer and answer.get("id") is None and "error" in answer:
                        if response.status == _BAD_REQUEST and session is not None and _is_of_session(answer):
                            raise self._session_lost(session)
                        return _result_of(answer)
        except aiohttp.ClientConnectorError as error:
            raise ServiceError(
                f"the MCP server {self._name!r} cannot be reached: {error}", remedy=self.remedy
            ) from None
        except aiohttp.ClientResponseError as error:
            raise Garbled(f"something that is not HTTP: {error.message}") from None
        except (aiohttp.ClientError, ConnectionError) as error:
            raise Lost(f"the connection was lost: {error}") from None
        raise Lost("the stream ended without an answer")

    def _session_lost(self, session: str) -> SessionLost:
        self._session = None if self._session == session else self._session
        return SessionLost("it ended its session")

    async def notify(self, method: str, version: str | None) -> None:
        try:
            async with await self._post({"jsonrpc": "2.0", "method": method}, version) as response:
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

    async def _post(self, message: JsonObject, version: str | None) -> aiohttp.ClientResponse:
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
        shown = ""
        for _ in range(_REDIRECTS_AT_MOST):
            response = await self._client.post(self._url, data=sent_body(body), headers=headers, allow_redirects=False)
            if not 300 <= response.status < 400:
                return response
            response.close()
            to = response.url.join(URL(response.headers.get("Location", "")))
            shown = f"status {response.status} to {to.origin()}{to.path}"
            if response.status not in _SAME_METHOD or to.origin() != response.url.origin():
                break
            self._url = str(to)
        raise ServiceError(
            f"the MCP server {self._name!r} redirects by {shown}, which is not followed",
            remedy="if this is the server, set it as `mcp.base_url`",
        )


_NOT_FOUND, _BAD_REQUEST = 404, 400
_REFUSING = (401, 403, 407, 429)
"""Statuses about the harness's own credentials, and the rate of its requests."""
_FAILING = 500
_SHOWN = 200
_SAME_METHOD = (307, 308)
"""The redirects that keep method and body."""


def _is_of_session(answer: JsonObject) -> bool:
    """Whether an error that names no request is of the transport itself: servers of the TypeScript SDK answer so."""
    return object_of(answer["error"]).get("code") in {-32000, -32001}


async def _messages(response: aiohttp.ClientResponse) -> AsyncIterator[JsonObject]:
    if response.content_type == "text/event-stream":
        async for text in _events(response):
            yield _message(text)
    elif response.content_type == "application/json":
        yield _message(b"".join([part async for part in _bounded(response)]))
    else:
        raise Garbled(f"status {response.status} and {response.content_type}")


async def _own_answer(response: aiohttp.ClientResponse, number: int) -> JsonObject:
    """The answer of the protocol under a status of failure; raises Failed if there is none."""
    body = b"".join([part async for part in _bounded(response)])
    with contextlib.suppress(Garbled):
        answer = _message(body)
        if answer.get("id") == number:
            return answer
    raise Failed(response.status, body)


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
    if not is_readable(response.headers):
        raise Garbled("something in an encoding that was not asked for")
    total, body = 0, DecodedBody(response)
    while part := await body.readany():
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


def _result_of(message: JsonObject) -> JsonObject:
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        raise ServerError(error)
    if not isinstance(result, dict):
        raise Garbled("a response without result")
    return result


_ENDS_WITHIN_S = 2.0
_KEPT_LINES = 20
_KEPT_LINE = 500


class StdioTransport:
    """Starts the program in a process group of its own, and ends the whole group."""

    remedy = "start it by hand with the command in the suite's `tools:`"

    def __init__(self, name: str, command: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        self._name = name
        self._command = command
        self._env = {**subprocess_environment(), **env, **owned_environment()}
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._number = 0
        self._readers: list[asyncio.Task[None]] = []
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        self._ended: Exception | None = None

    async def open(self) -> None:
        """Raises ServiceError if the program cannot be started."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._folder,
                env=self._env,
                limit=MAX_ANSWER_BYTES,
                start_new_session=True,
            )
        except OSError as error:
            raise ServiceError(
                f"the MCP server {self._name!r} cannot be started: {self._command[0]}: {error.strerror}",
                remedy="install it, or set its full path in the suite's `tools:`",
            ) from None
        self._process = process
        self._readers = [asyncio.create_task(self._listen(process)), asyncio.create_task(self._overhear(process))]

    async def request(self, method: str, params: JsonObject, version: str | None) -> JsonObject:
        """As over HTTP, without sessions; on cancellation, the server is notified."""
        del version
        if self._ended is not None:
            raise self._ended
        self._number += 1
        number = self._number
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await answer
        except asyncio.CancelledError:
            cancelled: JsonObject = {"requestId": number, "reason": "the time is over"}
            self._write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
            raise
        finally:
            self._waiting.pop(number, None)

    async def notify(self, method: str, version: str | None) -> None:
        del version
        await self._send({"jsonrpc": "2.0", "method": method})

    async def close(self) -> None:
        process = self._process
        if process is None:
            return
        assert process.stdin is not None  # requested above
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _ENDS_WITHIN_S)
        with contextlib.suppress(ProcessLookupError):  # no process of the group remains
            os.killpg(process.pid, signal.SIGKILL)
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        with contextlib.suppress(TimeoutError):  # a process outside of the group holds the pipes open
            await asyncio.wait_for(_drained(process), _ENDS_WITHIN_S)
        self._process = None

    def said(self) -> str:
        """The end of what the server printed beside its messages."""
        return "\n".join(self._said)

    async def _send(self, message: JsonObject) -> None:
        process = self._process
        if process is None or process.stdin is None:
            raise Lost("it was ended")
        self._write(message)
        try:
            await process.stdin.drain()
        except ConnectionError:
            raise Lost("it closed its standard input") from None

    def _write(self, message: JsonObject) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None  # requested above
        ended: Exception = Lost("it ended")
        try:
            while line := await process.stdout.readline():
                self._handle_line(line)
        except ValueError:
            ended = Oversized(f"a message of more than {MAX_ANSWER_BYTES} bytes")
        self._ended = ended
        self._settle_all(ended)

    def _settle_all(self, problem: Exception) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(problem)

    def _handle_line(self, line: bytes) -> None:
        try:
            message: JsonValue = parse_json(line)
        except NotJson as error:
            self._said.append(line.decode("utf-8", "replace").rstrip()[:_KEPT_LINE])
            if line.lstrip().startswith(b"{"):  # other lines are log output of the program
                self._settle_all(Garbled(f"something that is not JSON: {error}"))
            return
        if not isinstance(message, dict):
            return
        number = message.get("id")
        if "method" in message:
            if number is not None:
                self._write(refusal(message))
            return
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is not None and not answer.done():
            settle(answer, message)

    async def _overhear(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None  # requested above
        while chunk := await process.stderr.read(65536):
            for line in chunk.decode("utf-8", "replace").splitlines():
                self._said.append(line[:_KEPT_LINE])


async def _drained(process: asyncio.subprocess.Process) -> None:
    """Waits for the end; asyncio reports it only after all that the program wrote was read."""
    for stream in (process.stdout, process.stderr):
        while stream is not None and await stream.read(65536):
            pass
    await process.wait()


def settle(answer: asyncio.Future[JsonObject], message: JsonObject) -> None:
    """Completes the future that waits for a response."""
    try:
        answer.set_result(_result_of(message))
    except (ServerError, Garbled) as error:
        answer.set_exception(error)


def refusal(message: JsonObject) -> JsonObject:
    """The answer to a server's request: pings are answered, and sampling, elicitation and roots are not supported."""
    if message.get("method") == "ping":
        return {"jsonrpc": "2.0", "id": message["id"], "result": {}}
    error: JsonObject = {"code": -32601, "message": "this client serves no such method"}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}
