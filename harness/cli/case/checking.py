"""Carries out `harness case check`."""

from pathlib import Path

from harness.case import Suite, ToolMode, ToolServer, load_suite
from harness.cli.output.console import say
from harness.pipeline import CaseFinding, RunOptions, Watch, check_cases, plan_of


def check_suite(project: Path, mode: ToolMode | None, options: RunOptions) -> tuple[CaseFinding, ...]:
    """The finding of every selected case, in the suite's order; `mode`: None for the suite's own."""
    loaded = load_suite(project, options.suite or "")
    tools = mode or _default_mode(loaded)
    model = None if loaded.model is None else "replay"
    plan = plan_of(project, options.model_copy(update={"tools": tools, "model": model}))

    def watch(agent: str) -> Watch:
        say(f"{agent}: {len(plan.planned)} cases, tools {tools}")
        return Watch(say=say)

    return check_cases(plan, watch)


def _default_mode(suite: Suite) -> ToolMode:
    """`sealed` if all servers with an address are services of the environment, else `replay`."""
    servers = suite.reached.values()
    has_services = any(server.service is not None for server in servers)
    return "sealed" if has_services and all(_may_be_sealed(server) for server in servers) else "replay"


def _may_be_sealed(server: ToolServer) -> bool:
    return server.base_url is None and server.tool_source is None
