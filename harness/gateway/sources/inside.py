"""Answers from the trial's own sandbox: a shell next to the agent's program, and its files.

They depend on no tool mode and are on no cassette: the sandbox is restored from its snapshot, and changes in
it are part of the end state that the case is scored by.
"""

import asyncio
import json
from collections.abc import Callable

from harness.case import READ_FILE, SHELL, WRITE_FILE
from harness.errors import SandboxError
from harness.sandbox import LauncherLost, Sandbox
from harness.upstream import ToolAnswer, ToolMiss, ToolRequest
from harness.values import JsonObject

_MOST_READ = 262_144
_Done = tuple[int, JsonObject]


class InsideSource:
    """Acts in the attached sandbox; without one, every call fails."""

    def __init__(self) -> None:
        self._sandbox: Sandbox | None = None

    def attach(self, sandbox: Sandbox | None) -> None:
        """Attaches the sandbox of the agent's program; None: the program has ended."""
        self._sandbox = sandbox

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        sandbox = self._sandbox
        if sandbox is None:
            return ToolAnswer(outcome="unreachable", tier="sealed")
        status, result = await asyncio.to_thread(_act, sandbox, request)
        body = json.dumps(result).encode()
        return ToolAnswer(outcome="answer", tier="sealed", status=status, body=body)


def _act(sandbox: Sandbox, request: ToolRequest) -> _Done:
    acts: dict[str, Callable[[Sandbox, ToolRequest], _Done]] = {
        SHELL: _shell,
        READ_FILE: _read,
        WRITE_FILE: _write,
    }
    try:
        return acts[request.tool.source_name or request.tool.name](sandbox, request)
    except FileNotFoundError as error:
        return 404, _error(f"{error.filename}: there is no such file")
    except (IsADirectoryError, PermissionError) as error:
        return 403, _error(f"{error.filename}: {error.strerror}")
    except LauncherLost:
        raise
    except SandboxError as error:
        return 400, _error(error.message)


def _shell(sandbox: Sandbox, request: ToolRequest) -> _Done:
    # The gateway's timeout of the call must be longer than the command's: otherwise its answer would be lost.
    ended = sandbox.exec(["/bin/sh", "-c", _text(request, "command")], {}, request.tool.timeout_s)
    result: JsonObject = {
        "exit_code": ended.code,
        "stdout": ended.stdout,
        "stderr": ended.stderr,
        "timed_out": ended.timed_out,
    }
    return 200, result


def _read(sandbox: Sandbox, request: ToolRequest) -> _Done:
    content = sandbox.read_file(_text(request, "path"), _MOST_READ)
    return 200, {"content": content.decode("utf-8", "replace")}


def _write(sandbox: Sandbox, request: ToolRequest) -> _Done:
    content = _text(request, "content").encode()
    sandbox.write_file(_text(request, "path"), content)
    return 200, {"written_bytes": len(content)}


def _text(request: ToolRequest, name: str) -> str:
    value = request.arguments[name]
    assert isinstance(value, str)  # the schema requires it
    return value


def _error(message: str) -> JsonObject:
    return {"message": message}
