"""The addresses of the suite's tool servers, and whether the tool mode permits their use."""

import re
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from harness.errors import ServiceError, UsageError
from harness.gateway.budgets import RateLimiter, Waits
from harness.gateway.upstream.http_tools import HttpSource, ToolUpstream
from harness.gateway.upstream.sources import Reached, RoutedSource, TrialTools
from harness.suite.models import ToolMode
from harness.suite.suites import Suite, ToolServer

_RETRIES = 2
"""How often a live read is sent again that met no connection, or one that was lost before any answer."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def check_servers(suite: Suite, mode: ToolMode, secrets: Mapping[str, str]) -> None:
    """Checks before any trial that the mode supports the suite's servers. Raises UsageError."""
    if mode == "replay":
        return
    for name, server in suite.reached.items():
        if server.is_program:
            from harness.gateway.upstream.mcp_servers import check_program

            check_program(name, server, suite.folder)
        elif server.service is None and not (server.sandbox or server.browser):
            _check_address(name, server, mode)
        if server.service is None:
            _check_writes(suite, name, server, mode)
        resolved_headers(name, server, suite, secrets)
        resolved_env(name, server, suite, secrets)


def share_services(suite: Suite, mode: ToolMode) -> bool:
    """Whether all trials can share one set of services: only if a header separates their states.

    No header separates the content of a database, so a suite that queries one starts separate services for each trial.
    """
    if _asks_databases(suite):
        return False
    return mode in {"live", "record"} and all(
        server.session_header is not None for server in suite.reached.values() if server.service is not None
    )


def needs_services(suite: Suite, mode: ToolMode) -> bool:
    served = any(server.service is not None for server in suite.reached.values())
    return mode != "replay" and (served or _asks_databases(suite))


def _asks_databases(suite: Suite) -> bool:
    probes = (*suite.probes, *(probe for case in suite.cases for probe in case.probes))
    return any(probe.sql is not None and probe.sql.service is not None for probe in probes)


def upstreams(
    suite: Suite, services: Mapping[str, str], secrets: Mapping[str, str], session_id: str
) -> dict[str, ToolUpstream]:
    """Every server, for the calls of one session. Raises ServiceError for a service that was not started."""
    return {
        name: ToolUpstream(
            base_url=_base_url(name, server, services),
            headers=resolved_headers(name, server, suite, secrets)
            | ({} if server.session_header is None else {server.session_header: session_id}),
            service=server.service,
            retries=0 if server.service is not None else _RETRIES,
        )
        for name, server in suite.reached.items()
    }


def resolved_headers(name: str, server: ToolServer, suite: Suite, secrets: Mapping[str, str]) -> dict[str, str]:
    """The declared headers with `${NAME}` filled in. Raises UsageError for a name that is not declared as a secret."""
    return filled(f"server {name!r}", "headers", server.headers, suite.secrets, secrets)


def resolved_env(name: str, server: ToolServer, suite: Suite, secrets: Mapping[str, str]) -> dict[str, str]:
    """The declared environment of a server that is a program, filled in likewise."""
    declared = {} if server.mcp is None else server.mcp.env
    return filled(f"server {name!r}", "env", declared, suite.secrets, secrets)


def filled(
    place: str, field: str, declared: Mapping[str, str], secret_names: Collection[str], secrets: Mapping[str, str]
) -> dict[str, str]:
    """The declared values with `${NAME}` filled in; see `resolved_headers`."""

    def value_of(found: re.Match[str]) -> str:
        variable = found[1]
        if variable not in secret_names:
            raise UsageError(
                f"{place}: `{field}` uses ${{{variable}}}, which is not one of the suite's secrets",
                remedy=f"add {variable} to `secrets`, so that its value is never stored",
            )
        if not secrets.get(variable):
            raise UsageError(f"{place}: the environment variable {variable} is not set", remedy="set it")
        return secrets[variable]

    return {key: _VARIABLE.sub(value_of, value) for key, value in declared.items()}


def _base_url(name: str, server: ToolServer, services: Mapping[str, str]) -> str:
    if server.service is None:
        return server.base_url or ""
    if server.service not in services:
        raise ServiceError(
            f"server {name!r}: the environment has no service {server.service!r}",
            remedy=f"it has: {', '.join(sorted(services)) or 'none'}",
        )
    return services[server.service]


def _check_address(name: str, server: ToolServer, mode: ToolMode) -> None:
    if mode == "sealed":
        raise UsageError(
            f"server {name!r} is not a service of the environment, so it cannot be sealed",
            remedy="use `--live none` or `--live tools`, or serve it from the environment",
        )
    address = urlsplit(server.base_url or "")
    if address.scheme not in {"http", "https"} or not address.netloc:
        raise UsageError(f"server {name!r}: base_url: expected an http(s) URL, found {server.base_url!r}")


def _check_writes(suite: Suite, name: str, server: ToolServer, mode: ToolMode) -> None:
    writing = [tool.name for tool in suite.tools if tool.server == name and tool.effect == "write"]
    if writing and not server.disposable:
        raise UsageError(
            f"server {name!r} is not disposable, and {', '.join(writing)} would write to it in {mode} mode",
            remedy=f"in {suite.folder / 'suite.yaml'}: `servers.{name}.disposable: true` (a group of tools has its own"
            " `disposable`) if its state may be thrown away, or the tools as `effect: read`: undeclared is a write;"
            " or replay: `--live none`",
        )


# The services that answer one trial's calls: over HTTP, as MCP servers, as Python functions.


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
        from harness.gateway.upstream.mcp_servers import McpSource, ServerStart

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
        return RoutedSource(by_server, http) if by_server else http
