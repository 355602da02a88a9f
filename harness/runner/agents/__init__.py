"""Agents: the suite's own program, and two that check a suite: `oracle` and `nop`."""

from collections.abc import Mapping
from pathlib import Path

from harness.alternatives import alternatives
from harness.case import Suite
from harness.errors import UsageError
from harness.runner.agent import Agent
from harness.runner.agents.nop import NopAgent
from harness.runner.agents.oracle import OracleAgent
from harness.runner.agents.program import ProgramAgent

BUILT_IN = ("oracle", "nop")


def open_agent(suite: Suite, name: str | None, staging: Path, texts: Mapping[str, str] | None = None) -> Agent:
    """Opens the agent called `name` (None selects the suite's default); `staging` holds the immutable copies of its
    files. `texts` replaces contents of files of the suite's own agent, by their names inside its folder.

    Raises UsageError that lists the existing agents, and for a text of a file that the agent does not have.
    """
    chosen = name or suite.default_agent
    if chosen in suite.agents:
        return ProgramAgent(suite, chosen, staging, texts)
    match chosen:
        case "oracle":
            return OracleAgent()
        case "nop":
            return NopAgent()
        case _:
            known = alternatives(chosen, [*suite.agents, *BUILT_IN])
            raise UsageError(f"suite {suite.name!r} has no agent {chosen!r}", remedy=known)
