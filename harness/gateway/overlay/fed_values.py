"""Translates generated values between a parent trial, which the agent was fed, and the services of a variant.

The agent knows the ids and times of its parent's answers; the services that take the same writes generate others. While
fed calls are made again, the two answers to each call tell which values correspond. Later calls reach the services with
their own values, and their answers reach the agent with the parent's.
"""

from dataclasses import dataclass, replace

from harness.cassette import Normalisation
from harness.gateway.exchange.trial import TrialContext
from harness.gateway.failures import CallFailure
from harness.gateway.outcome import result_of
from harness.upstream import ToolAnswer, ToolMiss, ToolRequest, TrialTools
from harness.values import JsonValue


@dataclass(frozen=True, kw_only=True)
class FedValueSource:
    """The tools of a variant. Tools that act in the trial's own sandbox or browser are not translated."""

    inner: TrialTools
    trial: TrialContext
    values: Normalisation

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        """The answer with the parent's values."""
        if self._is_own(request):
            return await self.inner.call(request)
        answer = await self.inner.call(self._sent(request))
        if isinstance(answer, ToolMiss):
            return answer
        return replace(answer, body=self.values.normalised(answer.body, request.tool.name))

    async def again(self, request: ToolRequest, fed: JsonValue) -> ToolAnswer | ToolMiss:
        """The service's answer, as it is, to a call to which the agent was fed another."""
        if self._is_own(request):
            return await self.inner.call(request)
        answer = await self.inner.call(self._sent(request))
        if isinstance(answer, ToolAnswer):
            result = result_of(request.tool, answer)
            if not isinstance(result, CallFailure):
                self.values.learn(request.tool.name, result, fed)
        return answer

    def _sent(self, request: ToolRequest) -> ToolRequest:
        arguments = self.values.sent(request.arguments, request.tool.name)
        assert isinstance(arguments, dict)  # translation keeps the structure
        return replace(request, arguments=arguments)

    def _is_own(self, request: ToolRequest) -> bool:
        server = self.trial.suite.servers.get(request.tool.server)
        return server is not None and bool(server.sandbox or server.browser)
