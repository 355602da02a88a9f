"""Determines the (sub-)agent that a model's reply belongs to, where the data allows it.

The agent's own OpenTelemetry spans name it. Without them, requests with different instructions belong to different
agents: the beginning of the system prompt, without digits, identifies an agent.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from harness.trace import names
from harness.trace.span import Span

_NAMES = ("gen_ai.agent.name", "agent.name", "llm.agent.name", "graph.node.id")
_KNOWN_BY = 120


class Agents:
    """Names the agents of one trial; the first one that sends a model request is the main agent."""

    def __init__(self, main: str, spans: Sequence[Span]) -> None:
        self._main = main
        self._own: Mapping[str, Span] = {s.span_id: s for s in spans if s.attributes.get(names.ORIGIN) == "agent"}
        self._named: dict[str, str | None] = {}
        self._around = _Intervals([(s.start_ns, s.end_ns, name) for s in self._own.values() if (name := _name(s))])
        self._identities: dict[str, str] = {}

    def of(self, span: Span) -> str:
        """The agent that made the request, or whose own span it is."""
        agent = self._by_parent(span) or self._by_time(span)
        if agent is not None or span.span_id in self._own:
            return agent or self._main
        system = span.attributes.get(names.UNCHANGED_SYSTEM) or span.attributes.get(names.SYSTEM)
        prompt = re.sub(r"\d+", "", str(system or ""))[:_KNOWN_BY]
        number = len(self._identities) + 1
        return self._identities.setdefault(prompt, self._main if number == 1 else f"{self._main}/{number}")

    def _by_parent(self, span: Span) -> str | None:
        """The name of the nearest agent span above; each span of a chain is visited once, however many lookups there
        are.
        """
        at = span.span_id if span.span_id in self._own else str(span.attributes.get(names.ORIGIN_PARENT))
        walked: list[str] = []
        name: str | None = None
        while at in self._own and at not in self._named:
            self._named[at] = None  # a chain that leads back to itself ends here
            walked.append(at)
            name = _name(self._own[at])
            if name is not None:
                break
            at = self._own[at].parent_id or ""
        else:
            name = self._named.get(at)
        self._named.update(dict.fromkeys(walked, name))
        return name

    def _by_time(self, span: Span) -> str | None:
        """The innermost agent span around it; None where the agent's clock differs."""
        return self._around.innermost(span.start_ns, span.end_ns)


class _Intervals:
    """Named intervals by their start, with a tree of the latest ends: a lookup takes logarithmic time."""

    def __init__(self, intervals: Sequence[tuple[int, int, str]]) -> None:
        self._sorted = sorted(intervals, key=lambda one: one[0])
        self._starts = [start for start, _, _ in self._sorted]
        self._leaves = 1 << len(self._sorted).bit_length()  # more leaves than intervals
        ends = [end for _, end, _ in self._sorted]
        self._latest = [-1] * self._leaves + ends + [-1] * (self._leaves - len(ends))
        for node in range(self._leaves - 1, 0, -1):
            self._latest[node] = max(self._latest[2 * node], self._latest[2 * node + 1])

    def innermost(self, start: int, end: int) -> str | None:
        """The name of the interval with the latest start that contains all of `start` to `end`."""
        node = self._leaves + bisect_right(self._starts, start)
        while node > 1:  # from right to left over the intervals that begin in time
            if node & 1 and self._latest[node - 1] >= end:
                return self._sorted[self._rightmost(node - 1, end)][2]
            node >>= 1
        return None

    def _rightmost(self, node: int, end: int) -> int:
        while node < self._leaves:
            node = 2 * node + 1 if self._latest[2 * node + 1] >= end else 2 * node
        return node - self._leaves


def _name(span: Span) -> str | None:
    return next((str(span.attributes[name]) for name in _NAMES if span.attributes.get(name)), None)
