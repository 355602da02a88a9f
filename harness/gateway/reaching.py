"""Everything that one trial's calls can reach outside of its sandbox: HTTP services, MCP servers, Python functions."""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from harness.case import Suite
from harness.gateway.rate import RateLimiter
from harness.gateway.sources.browser import BrowserSource
from harness.gateway.sources.http import HttpSource, ToolUpstream
from harness.gateway.sources.inside import InsideSource
from harness.gateway.sources.mcp.servers import ServerStart
from harness.gateway.sources.mcp.source import McpSource
from harness.gateway.sources.routed import RoutedSource
from harness.gateway.sources.source import Reached, ToolSource
from harness.gateway.upstreams import resolved_env
from harness.gateway.waiting import Waits


@dataclass(frozen=True, kw_only=True)
class OwnSources:
    """What belongs to the trial itself and answers the same in every tool mode."""

    inside: InsideSource = field(default_factory=InsideSource)
    browser: BrowserSource = field(default_factory=BrowserSource)

    def before(self, suite: Suite, otherwise: ToolSource) -> ToolSource:
        """`otherwise`, and these for the tools that act in the trial's own sandbox or browser."""
        own: dict[str, ToolSource] = {
            name: self.inside if server.sandbox else self.browser
            for name, server in suite.servers.items()
            if server.sandbox or server.browser
        }
        return RoutedSource(own, otherwise) if own else otherwise


@dataclass(frozen=True)
class Upstreams:
    """What every trial of a run reaches in the same way; `waits` is its own."""

    suite: Suite
    client: aiohttp.ClientSession
    limiter: RateLimiter
    secrets: Mapping[str, str]
    waits: Waits = nullcontext

    def source(
        self,
        upstreams: Mapping[str, ToolUpstream],
        tier: Reached,
        closing: ExitStack,
        wait_for: Callable[[Coroutine[Any, Any, None]], None],
    ) -> ToolSource:
        """What answers one trial. What it begins is ended with `closing`, on the gateway's own thread."""
        http = HttpSource(self.client, upstreams, self.limiter, tier, self.waits)
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
        services = [name for name, server in self.suite.servers.items() if server.service is not None]
        mcp = McpSource(starts, self.limiter, tier, services)
        closing.callback(lambda: wait_for(mcp.close()))
        return RoutedSource(dict.fromkeys(starts, mcp), http)
