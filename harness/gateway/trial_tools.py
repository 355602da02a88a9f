"""The tools that act in the trial's own sandbox or browser."""

import json
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from pydantic import JsonValue

from harness.errors import SandboxError
from harness.gateway.upstream.sources import RoutedSource, ToolAnswer, ToolMiss, ToolRequest, TrialTools
from harness.gateway.upstream.transport import TrialThreads, Work
from harness.sandbox.browser import Browser
from harness.sandbox.control import LauncherLost
from harness.sandbox.provider import Sandbox
from harness.suite.builtin_tools import CLICK, READ, READ_FILE, SHELL, TYPE, WRITE_FILE
from harness.suite.suites import Suite
from harness.values import JsonObject

# Answers from the trial's own sandbox: a shell next to the agent's program, and its files.
#
# They depend on no tool mode and are on no cassette: the sandbox is restored from its snapshot, and changes in it are
# part of the end state that the case is scored by.

_MOST_READ = 262_144
_Done = tuple[int, JsonValue]
T = TypeVar("T")


class AttachedSource(Generic[T]):
    """Acts in what is attached; without it, every call fails."""

    def __init__(self, threads: TrialThreads, kind: Work, act: Callable[[T, ToolRequest], _Done]) -> None:
        self._threads = threads
        self._kind: Work = kind
        self._act = act
        self._attached: T | None = None

    def attach(self, attached: T | None) -> None:
        """None: detaches it."""
        self._attached = attached

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        attached = self._attached
        if attached is None:
            return ToolAnswer(outcome="unreachable", tier="sealed")
        status, result = await self._threads.run(self._kind, partial(self._act, attached, request))
        body = json.dumps(result).encode()
        return ToolAnswer(outcome="answer", tier="sealed", status=status, body=body)


def _act_in_sandbox(sandbox: Sandbox, request: ToolRequest) -> _Done:
    acts: dict[str, Callable[[Sandbox, ToolRequest], _Done]] = {
        SHELL: _shell,
        READ_FILE: _read_file,
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
    ended = sandbox.exec(["/bin/sh", "-c", _text_argument(request, "command")], {}, request.tool.timeout_s)
    result: JsonObject = {
        "exit_code": ended.code,
        "stdout": ended.stdout,
        "stderr": ended.stderr,
        "timed_out": ended.timed_out,
    }
    return 200, result


def _read_file(sandbox: Sandbox, request: ToolRequest) -> _Done:
    content = sandbox.read_file(_text_argument(request, "path"), _MOST_READ)
    return 200, {"content": content.decode("utf-8", "replace")}


def _write(sandbox: Sandbox, request: ToolRequest) -> _Done:
    content = _text_argument(request, "content").encode()
    sandbox.write_file(_text_argument(request, "path"), content)
    return 200, {"written_bytes": len(content)}


def _text_argument(request: ToolRequest, name: str) -> str:
    value = request.arguments[name]
    assert isinstance(value, str)  # the schema requires it
    return value


def _error(message: str) -> JsonObject:
    return {"message": message}


# Answers from the trial's own browser, which the trial starts on first use.
#
# They are not recorded and do not depend on the tool mode: the requests of its pages pass the gateway, and are replayed
# there.

_MOST_READ_CHARS = 20_000
_DRIVERS_DEFAULTS: dict[str, dict[str, JsonValue]] = {
    CLICK: {"dialog": "dismiss"},
    TYPE: {"submit": False},
    READ: {"target": None, "most_chars": _MOST_READ_CHARS},
}

OpenBrowser = Callable[[], Browser]
"""Returns the agent's browser, and starts it the first time. Raises SandboxError."""


def _act_in_browser(open_browser: OpenBrowser, request: ToolRequest) -> _Done:
    do = request.tool.source_name or request.tool.name
    arguments: JsonObject = _DRIVERS_DEFAULTS.get(do, {}) | request.arguments
    acted = open_browser().act(do, arguments, request.tool.timeout_s)
    return acted.status, acted.said


class TrialSources:
    """Sources that belong to the trial itself and do not depend on the tool mode."""

    def __init__(self, threads: TrialThreads) -> None:
        self.inside = AttachedSource[Sandbox](threads, "sandbox", _act_in_sandbox)
        self.browser = AttachedSource[OpenBrowser](threads, "browser", _act_in_browser)

    def before(self, suite: Suite, otherwise: TrialTools) -> TrialTools:
        """Routes the tools that act in the trial's own sandbox or browser to these sources, and all others to
        `otherwise`.
        """
        sources: dict[str, TrialTools] = {
            name: self.inside if server.sandbox else self.browser
            for name, server in suite.servers.items()
            if server.sandbox or server.browser
        }
        return RoutedSource(sources, otherwise) if sources else otherwise
