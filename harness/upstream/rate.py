"""Keeps live calls within the tools' rate limits, over all trials of a run together."""

import asyncio
import time
from collections import deque

from harness.case import RateLimit, ToolSpec

LONGEST_HOLD_S = 60.0


class RateLimiter:
    """Lets at most `calls` calls start in any `per_s` seconds; waiting calls are served in order of arrival."""

    def __init__(self) -> None:
        self._begun: dict[str, deque[float]] = {}
        self._held: dict[str, float] = {}

    def hold(self, name: str, for_s: float) -> None:
        """Delays calls to the upstream `name` for this time, at most a minute, because it has asked one
        client to wait.
        """
        until = time.monotonic() + min(for_s, LONGEST_HOLD_S)
        self._held[name] = max(until, self._held.get(name, until))

    async def wait(self, tool: ToolSpec) -> None:
        """Waits until the tool may be called."""
        await self.wait_for(tool.name, tool.rate_limit)

    async def wait_for(self, name: str, limit: RateLimit | None) -> None:
        """Waits until the upstream `name` may be called."""
        while (left := self._held.get(name, 0.0) - time.monotonic()) > 0:
            await asyncio.sleep(left)
        if limit is None:
            return
        begun = self._begun.setdefault(name, deque(maxlen=limit.calls))
        now = time.monotonic()
        at = max(now, begun[0] + limit.per_s) if len(begun) == limit.calls else now
        begun.append(at)
        if at > now:
            await asyncio.sleep(at - now)
