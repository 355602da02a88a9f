"""Carries out `harness case check`."""

from pathlib import Path
from typing import Any

from harness.case import Suite, ToolMode, ToolServer, load_suite
from harness.cli.console import say
from harness.pipeline import CaseFinding, RunOptions, Watch, check_cases, plan_of


def check_suite(project: Path, suite: str, options: dict[str, Any]) -> tuple[CaseFinding, ...]:
    """The finding of every selected case, in the suite's order."""
    loaded = load_suite(project, suite)
    tools: ToolMode = options.pop("tools") or _default_mode(loaded)
    plan = plan_of(
        project, RunOptions(suite=suite, tools=tools, model=None if loaded.model is None else "replay", **options)
    )

    def watch(agent: str) -> Watch:
        say(f"{agent}: {len(plan.planned)} cases, tools {tools}")
        return Watch(say=say)

    return check_cases(plan, watch)


def _default_mode(suite: Suite) -> ToolMode:
    """`sealed` where all servers with an address are services: one outside of the environment cannot be sealed."""
    servers = suite.reached.values()
    has_services = any(server.service is not None for server in servers)
    return "sealed" if has_services and all(_may_be_sealed(server) for server in servers) else "replay"


def _may_be_sealed(server: ToolServer) -> bool:
    return server.base_url is None and server.tool_source is None
