"""The tools that act in the trial's own sandbox or browser."""

import json
from collections.abc import Callable
from functools import partial

from pydantic import JsonValue

from harness.errors import SandboxError
from harness.gateway.upstream.sources import RoutedSource, ToolAnswer, ToolMiss, ToolRequest, TrialTools
from harness.gateway.upstream.transport import TrialThreads
from harness.sandbox.browser import ActResult, Browser
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
_Done = tuple[int, JsonObject]


class InsideSource:
    """Acts in the attached sandbox; without one, every call fails."""

    def __init__(self, threads: TrialThreads) -> None:
        self._threads = threads
        self._sandbox: Sandbox | None = None

    def attach(self, sandbox: Sandbox | None) -> None:
        """Attaches the sandbox of the agent's program; None: the program has ended."""
        self._sandbox = sandbox

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        sandbox = self._sandbox
        if sandbox is None:
            return ToolAnswer(outcome="unreachable", tier="sealed")
        status, result = await self._threads.run("sandbox", partial(_act_in_sandbox, sandbox, request))
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


class BrowserSource:
    """Acts in the attached browser; without one, every call fails."""

    def __init__(self, threads: TrialThreads) -> None:
        self._threads = threads
        self._open: OpenBrowser | None = None

    def attach(self, open_browser: OpenBrowser | None) -> None:
        """Attaches the function that opens the agent's browser; None: the trial has ended."""
        self._open = open_browser

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        open_browser = self._open
        if open_browser is None:
            return ToolAnswer(outcome="unreachable", tier="sealed")
        acted = await self._threads.run("browser", partial(_act_in_browser, open_browser, request))
        return ToolAnswer(outcome="answer", tier="sealed", status=acted.status, body=json.dumps(acted.said).encode())


def _act_in_browser(open_browser: OpenBrowser, request: ToolRequest) -> ActResult:
    do = request.tool.source_name or request.tool.name
    arguments: JsonObject = _DRIVERS_DEFAULTS.get(do, {}) | request.arguments
    return open_browser().act(do, arguments, request.tool.timeout_s)


class TrialSources:
    """Sources that belong to the trial itself and do not depend on the tool mode."""

    def __init__(self, threads: TrialThreads) -> None:
        self.inside = InsideSource(threads)
        self.browser = BrowserSource(threads)

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
