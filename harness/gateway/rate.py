"""Keeps live calls within the tools' rate limits, over all trials of a run together."""

import asyncio
import time
from collections import deque

from harness.case import RateLimit, ToolSpec


class RateLimiter:
    """Lets at most `calls` begin in any `per_s` seconds; those who wait are served in the order they came."""

    def __init__(self) -> None:
        self._begun: dict[str, deque[float]] = {}

    async def wait(self, tool: ToolSpec) -> None:
        """Returns when the tool may be called."""
        await self.wait_for(tool.name, tool.rate_limit)

    async def wait_for(self, name: str, limit: RateLimit | None) -> None:
        """Returns when whatever is called `name` may be called."""
        if limit is None:
            return
        begun = self._begun.setdefault(name, deque(maxlen=limit.calls))
        now = time.monotonic()
        at = max(now, begun[0] + limit.per_s) if len(begun) == limit.calls else now
        begun.append(at)
        if at > now:
            await asyncio.sleep(at - now)
