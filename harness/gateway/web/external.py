"""Answers of hosts outside of the run: their outage makes the trial inconclusive instead of reaching the agent."""

from harness.upstream import Reachability, Sink, ToolAnswer, ToolMiss, WebCall, WebSource


class ExternalHosts:
    """Passes requests on to `inner`. Raises UpstreamUnavailable where the connection to an external host failed."""

    def __init__(self, inner: WebSource, external: frozenset[str], reach: Reachability) -> None:
        self._inner = inner
        self._external = external
        self._reach = reach

    async def answer(self, call: WebCall, sink: Sink) -> ToolAnswer | ToolMiss:
        answer = await self._inner.answer(call, sink)
        if call.host.tool in self._external and isinstance(answer, ToolAnswer):
            self._reach.note(call.host.tool, f"{call.method} {call.address.place.origin}", answer)
        return answer
