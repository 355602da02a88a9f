"""Opens the servers for a probe: live servers, and restored services of the environment."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.case import Suite
from harness.drift import AfterWrites, OperationIndex, Probed, Prober, ReplayableRead, open_prober, plan_replays
from harness.pipeline.execution.environment import open_services
from harness.pipeline.plan.secrets import secret_values
from harness.upstream import LoopThread


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Access to the servers of a suite without an agent."""

    project: Path
    suite: Suite
    per_s: int
    """Maximum number of calls per second to external servers."""
    say: Callable[[str], None]

    @contextmanager
    def open(self, servers: Collection[str]) -> Iterator[tuple[Prober, LoopThread]]:
        """A prober of these servers; services are started only where one of them is a service."""
        suite, secrets = self.suite, secret_values(self.suite)
        if not any(suite.reached[name].service is not None for name in servers if name in suite.reached):
            with open_prober(_without_services(suite), {}, secrets, self.per_s) as opened:
                yield opened
            return
        self.say("starting the environment's services")
        with (
            open_services(self.project, suite.environment, suite.snapshot) as services,
            open_prober(suite, services, secrets, self.per_s) as opened,
        ):
            yield opened


def servers_of(asks: Iterable[ReplayableRead]) -> frozenset[str]:
    """Those that are called."""
    return frozenset(ask.recording.mark.server for ask in asks if ask.call is not None)


def probe_after_writes(
    reach: Reach, operations: OperationIndex, asks: Iterable[ReplayableRead], samples: int
) -> Probed:
    """Sends reads that were recorded after writes, each after the same writes to restored servers."""
    suite = reach.suite
    plan = plan_replays(suite, operations.cassettes, asks)
    probed = Probed(observations=(), recordings=(), not_asked=plan.not_asked, restores=len(plan.replays))
    for replay in plan.replays:
        run = AfterWrites(operations, replay, secret_values(suite), samples)
        with reach.open(replay.servers) as (prober, thread):
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
