"""Opens the servers for a probe: live servers, and restored services of the environment."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.case import Suite
from harness.cassette import Cassette
from harness.drift import (
    AfterWrites,
    OperationIndex,
    Probed,
    Prober,
    ReplayableRead,
    find_replayable_reads,
    open_prober,
    plan_replays,
)
from harness.pipeline.execution.environment import open_services
from harness.pipeline.plan.secrets import secret_values
from harness.upstream import LoopThread


@dataclass(frozen=True, kw_only=True)
class ServerAccess:
    """Access to the servers of a suite without an agent."""

    project: Path
    suite: Suite
    per_s: int
    """Maximum number of calls per second to external servers."""
    say: Callable[[str], None]

    @contextmanager
    def open(self, servers: Collection[str], snapshot: str | None) -> Iterator[tuple[Prober, LoopThread]]:
        """A prober of these servers; services are started, from the snapshot, only where one of them is a service."""
        suite, secrets = self.suite, secret_values(self.suite)
        if not any(suite.reached[name].service is not None for name in servers if name in suite.reached):
            with open_prober(_without_services(suite), {}, secrets, self.per_s) as opened:
                yield opened
            return
        self.say("starting the environment's services")
        with (
            open_services(self.project, suite.environment, snapshot) as services,
            open_prober(suite, services, secrets, self.per_s) as opened,
        ):
            yield opened


def servers_of(asks: Iterable[ReplayableRead]) -> frozenset[str]:
    """Those that are called."""
    return frozenset(ask.recording.mark.server for ask in asks if ask.call is not None)


def asks_by_snapshot(
    suite: Suite, cassettes: Mapping[str, Cassette], tools: Iterable[str]
) -> list[tuple[str | None, list[ReplayableRead]]]:
    """The recorded reads by the snapshot that their cases begin from; the suite's own comes first.

    A read of a service is asked once for each snapshot, because its answer depends on it; a read of any other server
    once.
    """
    own = {case.id: case.snapshot for case in suite.cases if case.snapshot is not None}
    tools, secrets = tuple(tools), secret_values(suite)
    every = find_replayable_reads(suite, cassettes, secrets, tools)
    services = {name for name, server in suite.reached.items() if server.service is not None}
    names = sorted({own[case] for case in cassettes if case in own})
    if not names:
        return [(suite.snapshot, every)]
    found: list[tuple[str | None, list[ReplayableRead]]] = []
    for name in (None, *names):
        begun = {case: cassette for case, cassette in cassettes.items() if own.get(case) == name}
        asks = find_replayable_reads(suite, begun, secrets, tools)
        of_services = [ask for ask in asks if ask.recording.mark.server in services]
        others = [] if name is not None else [ask for ask in every if ask.recording.mark.server not in services]
        found.append((name or suite.snapshot, [*others, *of_services]))
    return [one for one in found if one[1]] or found[:1]


def probe_after_writes(
    reach: ServerAccess, operations: OperationIndex, asks: Iterable[ReplayableRead], samples: int, snapshot: str | None
) -> Probed:
    """Sends reads that were recorded after writes, each after the same writes to restored servers."""
    suite = reach.suite
    plan = plan_replays(suite, operations.cassettes, asks)
    probed = Probed(observations=(), recordings=(), not_asked=plan.not_asked, restores=len(plan.replays))
    for replay in plan.replays:
        run = AfterWrites(operations, replay, secret_values(suite), samples)
        with reach.open(replay.servers, snapshot) as (prober, thread):
            probed = probed.with_more(thread.wait_for(run.run(prober)))
    return probed


def _without_services(suite: Suite) -> Suite:
    """The suite without requests to services: none needs to run."""
    return suite.model_copy(
        update={
            "servers": {name: server for name, server in suite.servers.items() if server.service is None},
            "hosts": tuple(host for host in suite.hosts if host.service is None),
        }
    )
