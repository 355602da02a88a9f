"""Finds servers that seem to share a backend: a read whose answer changed after a write to another server."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.cassette.keys import CallKey
from harness.values import Frozen


class SharedBackend(Frozen):
    """A server whose answers seem to depend on writes to other servers."""

    server: str
    tool: str
    """The read whose answer changed."""
    others: tuple[str, ...]
    """States that were written to between its two answers."""

    @property
    def advice(self) -> str:
        """The observation, and the lines that declare it."""
        names = " and ".join(repr(name) for name in self.others)
        return (
            f"{self.tool} of {self.server!r} gave another answer after a write to {names}: they seem to share a "
            f"backend. If they do, add to suite.yaml: {_place(self.server)}.state: {self.others[0]}; if they do not: "
            f"{_place(self.server)}.state: {self.server}"
        )


@dataclass(kw_only=True)
class SharingWatch:
    """Observes the reads of one trial, in the order in which they were made."""

    _last: dict[tuple[str, str], tuple[Mapping[str, str], str]] = field(default_factory=dict)
    _found: dict[str, SharedBackend] = field(default_factory=dict)
    _restless: set[str] = field(default_factory=set)

    def saw(self, call: CallKey, state: tuple[str, Mapping[str, str]], answer: str) -> None:
        """`state`: the server's own, and those of servers that may share its backend; `answer`: a digest."""
        own, others = state
        before = self._last.get((call.key, own))
        self._last[call.key, own] = (others, answer)
        if before is None or before[1] == answer:
            return
        changed = tuple(sorted(name for name in others if before[0].get(name) != others[name]))
        if not changed:
            self._restless.add(call.tool)  # its answers change by themselves
        elif call.tool not in self._found:
            self._found[call.tool] = SharedBackend(server=call.server, tool=call.tool, others=changed)

    @property
    def found(self) -> tuple[SharedBackend, ...]:
        """The finding for each tool, without tools whose answers change where nothing was written."""
        return tuple(one for tool, one in sorted(self._found.items()) if tool not in self._restless)


def _place(server: str) -> str:
    """The place of the server's declaration in suite.yaml."""
    return f"the host {server.removeprefix('http:')!r}" if server.startswith("http:") else f"servers.{server}"
