"""The services that answer one trial's calls: over HTTP, as MCP servers, as Python functions."""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any

import aiohttp

from harness.case import Suite
from harness.upstream.rate import RateLimiter
from harness.upstream.tools.http import HttpSource, ToolUpstream
from harness.upstream.tools.mcp.servers import ServerStart
from harness.upstream.tools.mcp.source import McpSource
from harness.upstream.tools.registered import RegisteredSource, registered_sources
from harness.upstream.tools.routed import RoutedSource
from harness.upstream.tools.servers import resolved_env
from harness.upstream.tools.source import Reached, TrialTools
from harness.upstream.waiting import Waits


@dataclass(frozen=True)
class Upstreams:
    """The services that all trials of a run share; `waits` belongs to the trial."""

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
    ) -> TrialTools:
        """The source for one trial. `closing` ends everything that it opens, on the gateway's own thread."""
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
        by_server: dict[str, TrialTools] = {}
        if starts:
            services = [name for name, server in self.suite.servers.items() if server.service is not None]
            mcp = McpSource(starts, self.limiter, tier, services)
            closing.callback(lambda: wait_for(mcp.close()))
            by_server |= dict.fromkeys(starts, mcp)
        opens = registered_sources(self.suite, self.secrets)
        if opens:
            registered = RegisteredSource(opens, self.limiter, tier, self.waits)
            closing.callback(lambda: wait_for(registered.close()))
            by_server |= dict.fromkeys(opens, registered)
        return RoutedSource(by_server, http) if by_server else http
