"""Answers from the trial's own browser, which the trial starts on first use.

They are not recorded and do not depend on the tool mode: the requests of its pages pass the gateway, and are replayed
there.
"""

import asyncio
import json
from collections.abc import Callable

from harness.case.sourcing.browser_tools import CLICK, READ, TYPE
from harness.sandbox import ActResult, Browser
from harness.upstream import ToolAnswer, ToolMiss, ToolRequest
from harness.values import JsonObject, JsonValue

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

    def __init__(self) -> None:
        self._open: OpenBrowser | None = None

    def attach(self, open_browser: OpenBrowser | None) -> None:
        """Attaches the function that opens the agent's browser; None: the trial has ended."""
        self._open = open_browser

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        open_browser = self._open
        if open_browser is None:
            return ToolAnswer(outcome="unreachable", tier="sealed")
        acted = await asyncio.to_thread(_act, open_browser, request)
        return ToolAnswer(outcome="answer", tier="sealed", status=acted.status, body=json.dumps(acted.said).encode())


def _act(open_browser: OpenBrowser, request: ToolRequest) -> ActResult:
    do = request.tool.source_name or request.tool.name
    arguments: JsonObject = _DRIVERS_DEFAULTS.get(do, {}) | request.arguments
    return open_browser().act(do, arguments, request.tool.timeout_s)
