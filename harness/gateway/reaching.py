"""Everything that one trial's calls can reach outside of its sandbox: HTTP services, MCP servers, Python functions."""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import aiohttp

from harness.case import Suite
from harness.gateway.rate import RateLimiter
from harness.gateway.sources.http import HttpSource, Upstream
from harness.gateway.sources.inside import InsideSource
from harness.gateway.sources.mcp.servers import ServerStart
from harness.gateway.sources.mcp.source import McpSource
from harness.gateway.sources.routed import RoutedSource
from harness.gateway.sources.source import Reached, ToolSource
from harness.gateway.upstreams import resolved_env


def inside_source(suite: Suite, otherwise: ToolSource) -> tuple[ToolSource, InsideSource]:
    """`otherwise`, and the trial's own sandbox for the tools that act there."""
    inside = InsideSource()
    servers = [name for name, server in suite.servers.items() if server.sandbox]
    return RoutedSource(dict.fromkeys(servers, inside), otherwise) if servers else otherwise, inside


@dataclass(frozen=True, kw_only=True)
class Outside:
    """What every trial of a run reaches in the same way."""

    suite: Suite
    client: aiohttp.ClientSession
    limiter: RateLimiter
    secrets: Mapping[str, str]

    def source(
        self,
        upstreams: Mapping[str, Upstream],
        tier: Reached,
        closing: ExitStack,
        wait_for: Callable[[Coroutine[Any, Any, None]], None],
    ) -> ToolSource:
        """What answers one trial. What it begins is ended with `closing`, on the gateway's own thread."""
        http = HttpSource(self.client, upstreams, self.limiter, tier)
        starts = {
            name: ServerStart(
                name=name,
                server=server,
                folder=self.suite.folder,
                client=self.client,
                base_url=upstreams[name].base_url,
                headers=upstreams[name].headers,
                env=resolved_env(name, server, self.suite, self.secrets),
            )
            for name, server in self.suite.servers.items()
            if server.mcp is not None or server.python is not None
        }
        if not starts:
            return http
        mcp = McpSource(starts, self.limiter, tier)
        closing.callback(lambda: wait_for(mcp.close()))
        return RoutedSource(dict.fromkeys(starts, mcp), http)
