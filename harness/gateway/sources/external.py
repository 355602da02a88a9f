"""Answers of servers outside of the run: their outage makes the trial inconclusive instead of reaching the agent."""

from harness.errors import ServiceError
from harness.upstream import Reachability, ToolAnswer, ToolMiss, ToolRequest, TrialTools


class ExternalTools:
    """Passes calls on to `inner`. Raises UpstreamUnavailable where the connection to an external server failed."""

    def __init__(self, inner: TrialTools, external: frozenset[str], reach: Reachability) -> None:
        self._inner = inner
        self._external = external
        self._reach = reach

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        server, tool = request.tool.server, request.tool.name
        if server not in self._external:
            return await self._inner.call(request)
        try:
            answer = await self._inner.call(request)
        except ServiceError as error:  # an MCP server that could not be opened
            raise self._reach.lost(server, tool, error.message) from error
        if isinstance(answer, ToolAnswer):
            self._reach.note(server, tool, answer)
        return answer
