"""Which servers and hosts of a suite share one state: what is written through one is read through the other."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.case.suite import Suite, ToolServer


@dataclass(frozen=True, kw_only=True)
class StateNames:
    """The state of each server and host; without content, each has its own and none depends on another."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Server, or `http:<host>` -> the name of its state."""
    undeclared: frozenset[str] = frozenset()
    """Servers for which the suite does not declare whether they share the state of another one that can be
    written to.
    """

    def of(self, server: str) -> str:
        return self.names.get(server, server)


def state_names(suite: Suite) -> StateNames:
    """What the suite declares with `state`, and what follows from servers of one service."""
    reached = {name: one for name, one in suite.reached.items() if not (one.sandbox or one.browser)}
    names = {name: one.state or _of_service(name, one, reached) for name, one in reached.items()}
    declared = {one.state for one in reached.values() if one.state is not None}
    written = {names[name] for name in reached if _can_be_written(suite, name)}
    undeclared = {
        name
        for name, one in reached.items()
        if one.state is None and names[name] not in declared and written - {names[name]}
    }
    return StateNames(names=names, undeclared=frozenset(undeclared))


def _of_service(name: str, server: ToolServer, reached: Mapping[str, ToolServer]) -> str:
    """Servers of one service share its state: the one that another of them declares, else that of the first one by
    name.
    """
    if server.service is None:
        return name
    same = {other: one for other, one in reached.items() if one.service == server.service}
    said = sorted(one.state for one in same.values() if one.state is not None)
    return said[0] if said else min(same)


def _can_be_written(suite: Suite, name: str) -> bool:
    if any(host.tool == name for host in suite.hosts):
        return True
    return any(tool.server == name and tool.effect == "write" for tool in suite.tools)
