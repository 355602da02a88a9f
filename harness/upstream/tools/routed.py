"""Routes each call to the source of its server."""

from collections.abc import Mapping

from harness.upstream.tools.source import ToolAnswer, ToolMiss, ToolRequest, TrialTools


class RoutedSource:
    """`by_server` answers for its servers, `otherwise` for all others."""

    def __init__(self, by_server: Mapping[str, TrialTools], otherwise: TrialTools) -> None:
        self._by_server = by_server
        self._otherwise = otherwise

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        return await self._by_server.get(request.tool.server, self._otherwise).call(request)
