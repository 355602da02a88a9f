"""What answers the tools, hosts and probes of one trial: its cassette, or the real services, which may be recorded."""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from harness.case import Case, ToolMode
from harness.cassette import Cassette, Kind, Normalisation, Player, Redactor, StateChain, TrialRecording
from harness.gateway.contract import AskedServices
from harness.gateway.probes import LiveProbes, gateway_probes
from harness.gateway.sources.external import ExternalTools
from harness.gateway.sources.generated_ids import GeneratedIdSource
from harness.gateway.sources.recording import RecordingSource
from harness.gateway.sources.replay import ReplaySource
from harness.upstream import HttpSource, Reachability, Reached, ToolSource, ToolUpstream, Upstreams, external_servers


@dataclass(frozen=True, kw_only=True)
class Answering:
    """One trial's. All that it records or replays shares one chain of writes."""

    mode: ToolMode
    case: Case
    cassette: Callable[[], Cassette]
    lenient: bool
    outside: Upstreams
    reached: Mapping[str, ToolUpstream]
    services: Mapping[str, str]
    reach: Reachability
    chain: StateChain

    @property
    def tier(self) -> Reached:
        """How the real world is reached."""
        return "sealed" if self.mode == "sealed" else "live"

    @property
    def own_services(self) -> AskedServices | None:
        """The services, where they are ours to watch and to ask."""
        return self.services if isinstance(self.services, AskedServices) else None

    def player(self, kind: Kind) -> Player | None:
        """None: nothing is replayed."""
        if self.mode != "replay":
            return None
        # What the verdicts rest on is never taken from an earlier state.
        lenient = self.lenient and kind != "probe"
        return Player(self.cassette().only(kind), lenient=lenient, chain=self.chain, volatile=self._volatile())

    def normalisation(self, *, refresh: bool) -> Normalisation | None:
        """What the answers of a recorded trial are brought in line with; None: nothing is recorded."""
        if self.mode != "record":
            return None
        return Normalisation(cassette=self.cassette(), declared=self._volatile(), refresh=refresh)

    def _volatile(self) -> dict[str, tuple[str, ...]]:
        suite = self.outside.suite
        return {tool.name: tool.volatile for tool in suite.tools} | {host.tool: host.volatile for host in suite.hosts}

    def tools(
        self,
        redactor: Redactor,
        trial_recording: TrialRecording | None,
        normalisation: Normalisation | None,
        closing: ExitStack,
        wait_for: Callable[[Coroutine[Any, Any, None]], None],
    ) -> tuple[ToolSource, tuple[Player, ...]]:
        """What answers the suite's tools, and the players in it."""
        player = self.player("tool")
        if player is not None:
            return ReplaySource(player), (player,)
        outside = self.outside.source(self.reached, self.tier, closing, wait_for)
        source = GeneratedIdSource(self._external(outside), redactor)
        if trial_recording is None:
            return source, ()
        return RecordingSource(source, trial_recording, redactor, normalisation, self.outside.suite.header_rules), ()

    def world(self) -> LiveProbes | None:
        """The started source of probe answers; None where they are replayed. Raises ServiceError."""
        if self.mode == "replay":
            return None
        http = HttpSource(self.outside.client, self.reached, self.outside.limiter, self.tier, self.outside.waits)
        world = LiveProbes(services=self.own_services, http=self._external(http))
        world.begin(gateway_probes((*self.outside.suite.probes, *self.case.probes)))
        return world

    def _external(self, source: ToolSource) -> ToolSource:
        """`source`, whose servers may be down where they are not the run's own."""
        if self.tier == "sealed":
            return source
        return ExternalTools(source, external_servers(self.outside.suite), self.reach)
