"""The source that answers the tools of a suite in one trial: a cassette, or the real services, which may be
recorded.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.cassette import KEPT_HEADERS, SECRET_HEADERS, Player
from harness.gateway.exchange.replaying import replayed
from harness.gateway.exchange.trial import TrialContext
from harness.gateway.sources.external import ExternalTools
from harness.upstream import HttpSource, ToolAnswer, ToolMiss, ToolRequest, TrialTools, external_servers

if TYPE_CHECKING:
    from harness.cassette import CallPosition, Mark, Normalisation, Outcome
    from harness.gateway.exchange.recording import Recorder


def suite_tools(trial: TrialContext) -> TrialTools:
    """The source of the suite's tools but for those that act in the trial's own sandbox or browser."""
    player = trial.player("tool")
    if player is not None:
        return ReplaySource(player)
    from harness.gateway.sources.generated_ids import GeneratedIdSource
    from harness.upstream import Upstreams

    run = trial.run
    outside = Upstreams(trial.suite, run.client, run.limiter, run.secrets, trial.waits)
    live = outside.source(trial.reached, trial.tier, trial.closing, trial.wait_for)
    source = GeneratedIdSource(external_tools(trial, live), trial.redactor)
    recorder = trial.recording(ToolCodec(trial.suite.header_rules))
    return source if recorder is None else RecordingSource(source, recorder)


def external_tools(trial: TrialContext, source: TrialTools) -> TrialTools:
    """Wraps `source`; its servers may be unavailable where the run did not start them."""
    if trial.tier == "sealed":
        return source
    return ExternalTools(source, external_servers(trial.suite), trial.run.reachability)


def api_source(trial: TrialContext) -> TrialTools:
    """The source for the harness's own reads of APIs."""
    run = trial.run
    return external_tools(trial, HttpSource(run.client, trial.reached, run.limiter, trial.tier, trial.waits))


@dataclass(frozen=True)
class ReplaySource:
    """Plays one trial's cassette; reaches no service."""

    player: Player

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        return replayed(self.player, request.key)


@dataclass(frozen=True)
class RecordingSource:
    """Records the answers of another source."""

    inner: TrialTools
    recorder: "Recorder[ToolRequest]"

    async def call(self, request: ToolRequest) -> ToolAnswer | ToolMiss:
        answer, _ = await self.recorder.record(request, self._ask)
        assert answer is not None  # tools always answer
        return answer

    async def _ask(self, request: ToolRequest, _: bool) -> ToolAnswer | ToolMiss:
        return await self.inner.call(request)


@dataclass(frozen=True)
class ToolCodec:
    """How calls of tools are recorded."""

    header_rules: Callable[[str], Collection[str]] = lambda _: ()
    """Maps a tool to the response headers, in lower case, that are stored besides `KEPT_HEADERS`."""
    streams: bool = False

    def sent(self, request: ToolRequest, normalisation: "Normalisation") -> ToolRequest:
        arguments = normalisation.sent(request.arguments, request.key.tool)
        assert isinstance(arguments, dict)  # replacement keeps the structure
        return replace(request, arguments=arguments)

    def mark(self, position: "CallPosition", outcome: "Outcome", answer: ToolAnswer) -> "Mark":
        del answer
        return position.mark("tool", outcome)

    def headers(self, request: ToolRequest, answer: ToolAnswer) -> Mapping[str, str]:
        kept = {*KEPT_HEADERS, *self.header_rules(request.key.tool)} - SECRET_HEADERS
        return {name: value for name, value in answer.headers.items() if name in kept}
