"""An MCP server that is a program: one JSON-RPC message a line on its standard streams."""

import asyncio
import contextlib
import json
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.errors import ServiceError
from harness.sandbox import owned_environment
from harness.strict_json import NotJson, parse_json
from harness.subprocess_environment import subprocess_environment
from harness.upstream.tools.http import MAX_ANSWER_BYTES
from harness.upstream.tools.mcp.connection import Garbled, Lost, Oversized, ServerError
from harness.values import JsonObject, JsonValue

_ENDS_WITHIN_S = 2.0
_KEPT_LINES = 20
_KEPT_LINE = 500


class StdioTransport:
    """Starts the program in a process group of its own, and ends the whole group."""

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
                self._hear(line)
        except ValueError:
            ended = Oversized(f"a message of more than {MAX_ANSWER_BYTES} bytes")
        self._ended = ended
        self._settle_all(ended)

    def _settle_all(self, problem: Exception) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(problem)

    def _hear(self, line: bytes) -> None:
        try:
            message: JsonValue = parse_json(line)
        except NotJson:
            self._said.append(line.decode("utf-8", "replace").rstrip()[:_KEPT_LINE])
            if line.lstrip().startswith(b"{"):  # other lines are log output of the program
                self._settle_all(Garbled("a message that is not JSON"))
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
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        answer.set_exception(ServerError(error))
    elif isinstance(result, dict):
        answer.set_result(result)
    else:
        answer.set_exception(Garbled("a response without result"))


def refusal(message: JsonObject) -> JsonObject:
    """The answer to a server's request: pings are answered, and sampling, elicitation and roots are not supported."""
    if message.get("method") == "ping":
        return {"jsonrpc": "2.0", "id": message["id"], "result": {}}
    error: JsonObject = {"code": -32601, "message": "this client serves no such method"}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}
