"""Which (sub-)agent a model's reply belongs to, where that can be told.

The agent's own OpenTelemetry spans say it by name. Without them, requests with other instructions are another agent's:
the beginning of the system prompt, without digits, is what an agent is known by.
"""

import re
from collections.abc import Mapping, Sequence

from harness.trace import names
from harness.trace.span import Span

_NAMES = ("gen_ai.agent.name", "agent.name", "llm.agent.name", "graph.node.id")
_KNOWN_BY = 120


class Agents:
    """Names the agents of one trial; the first that asks a model is the main one."""

    def __init__(self, main: str, spans: Sequence[Span]) -> None:
        self._main = main
        self._own: Mapping[str, Span] = {s.span_id: s for s in spans if s.attributes.get(names.ORIGIN) == "agent"}
        self._identities: dict[str, str] = {}

    def of(self, span: Span) -> str:
        """The agent that made the request, or whose own span it is."""
        told = self._by_parent(span) or self._by_time(span)
        if told is not None or span.span_id in self._own:
            return told or self._main
        prompt = re.sub(r"\d+", "", str(span.attributes.get(names.SYSTEM) or ""))[:_KNOWN_BY]
        number = len(self._identities) + 1
        return self._identities.setdefault(prompt, self._main if number == 1 else f"{self._main}/{number}")

    def _by_parent(self, span: Span) -> str | None:
        at = self._own.get(span.span_id) or self._own.get(str(span.attributes.get(names.ORIGIN_PARENT)))
        for _ in range(len(self._own)):
            if at is None:
                return None
            name = _name(at)
            if name is not None:
                return name
            at = self._own.get(at.parent_id or "")
        return None

    def _by_time(self, span: Span) -> str | None:
        """The innermost agent span around it; none where the agent's clock is another one."""
        around = [
            own
            for own in self._own.values()
            if _name(own) is not None and own.start_ns <= span.start_ns and span.end_ns <= own.end_ns
        ]
        return _name(max(around, key=lambda own: own.start_ns)) if around else None


def _name(span: Span) -> str | None:
    return next((str(span.attributes[name]) for name in _NAMES if span.attributes.get(name)), None)
