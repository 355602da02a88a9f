"""The driver's side of a run on a cluster: assigns each node as many trials as it accepts, and stores the results.

Trials of a lost node are tried once more on another node, like any trial that the harness could not run.
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from harness.case import case_of
from harness.cassette.recorder.live import FOLDER
from harness.documents import write_atomically
from harness.errors import SandboxError
from harness.pipeline.cluster.connection import connected
from harness.pipeline.cluster.delivery import packed
from harness.pipeline.cluster.messages import Delivered, NodeProblem, NodeRunSpec
from harness.pipeline.cluster.meter import bring_up_to_date, open_meter
from harness.pipeline.cluster.refusing import is_live, refuse_unshareable
from harness.pipeline.cluster.run_nodes import NodeSecrets, RunNode, make_ready, opened_stations
from harness.pipeline.execution.attempt import INFRASTRUCTURE_TRIES, Ended
from harness.pipeline.execution.environment import Say
from harness.pipeline.execution.executor import Job
from harness.pipeline.plan.secrets import secret_values
from harness.results import PlannedTrial, RunFolder
from harness.runner import failed_trial
from harness.sandbox import temporary_folder
from harness.score import Evidence
from harness.trace import otlp_headers

_LOOKS_EVERY_S = 1.0
"""Waiting is divided into intervals of this length, so that Ctrl-C is handled."""


@contextmanager
def opened(job: Job, say: Say) -> Iterator["ClusterExecutor"]:
    """The cluster's nodes, ready for the job."""
    plan = job.plan
    refuse_unshareable(plan)
    archive = packed(plan, (job.world.snapshot, *job.world.snapshots.values()))
    with connected(plan.ray_address) as nodes, opened_stations(nodes, plan.jobs_per_node, say) as stations:
        meter = open_meter(plan.budget) if is_live(plan) else None
        order = NodeRunSpec(
            run=job.run,
            plan=plan,
            archive=archive,
            agent_digest=job.agent.digest,
            snapshot_digest=job.world.snapshot_digest,
            reference_states=job.scorer.reference_states,
            meter=meter,
        )
        tags = sorted(set(job.world.images.values()))
        headers = {} if plan.otlp_endpoint is None else otlp_headers()
        keys = NodeSecrets(secrets=dict(secret_values(plan.suite)), otlp_headers=headers)
        ready = make_ready(stations, tags, order, keys, say)
        say(f"{len(ready)} nodes are ready, for {sum(station.slots for station in ready)} parallel trials")
        yield ClusterExecutor(job=job, stations=ready, say=say, meter=meter)


@dataclass(kw_only=True, eq=False)
class _Try:
    """A planned trial that is running on a node."""

    planned: PlannedTrial
    failures: int = 0
    failed_at: RunNode | None = None


@dataclass(kw_only=True)
class ClusterExecutor:
    """Implements `Executor`."""

    job: Job
    stations: list[RunNode]
    say: Say
    meter: Any = None
    """None where no upstream is called live."""
    _under_way: dict[Any, tuple[_Try, RunNode]] = field(default_factory=dict)
    _again: deque[_Try] = field(default_factory=deque)

    def run(self, tasks: Iterable[PlannedTrial], folder: RunFolder) -> Generator[Ended, None, None]:
        """Raises SandboxError where trials remain and no node does; completed trials are kept."""
        remaining = iter(tasks)
        while self._send(remaining):
            ref = self._next()
            tried, station = self._under_way.pop(ref)
            station.running -= 1
            delivered = self._fetched(ref, tried, station)
            if self.meter is not None and self.job.plan.budget is not None:
                bring_up_to_date(self.job.plan.budget, self.meter)
            if delivered is None:
                yield None
                continue
            _commit(delivered, folder)
            tried.failures += delivered.trial.outcome == "harness_failed"
            tried.failed_at = station
            if delivered.trial.outcome == "harness_failed" and tried.failures < INFRASTRUCTURE_TRIES:
                self._again.append(tried)
            else:
                yield delivered.trial, delivered.card

    def _send(self, remaining: Iterator[PlannedTrial]) -> bool:
        """Fills the free places; False when nothing is under way any more."""
        while self._sent_one(remaining):
            pass
        if not self._under_way and (self._again or next(remaining, None) is not None):
            raise SandboxError(
                "the cluster lost its last node before all trials had run",
                remedy=f"harness run --resume {self.job.run}",
            )
        return bool(self._under_way)

    def _sent_one(self, remaining: Iterator[PlannedTrial]) -> bool:
        """Whether one of the nodes with a free place, the emptiest first, had a trial to run."""
        free = [station for station in self.stations if station.is_free]
        for station in sorted(free, key=lambda station: station.running / station.slots):
            tried = self._next_for(station, remaining)
            if tried is not None:
                station.running += 1
                self._under_way[station.worker.run.remote(tried.planned)] = tried, station
                return True
        return False

    def _next_for(self, station: RunNode, remaining: Iterator[PlannedTrial]) -> _Try | None:
        """Retries a failed trial on another node, if there is one."""
        is_alone = all(other.lost for other in self.stations if other is not station)
        for tried in self._again:
            if is_alone or tried.failed_at is not station:
                self._again.remove(tried)
                return tried
        planned = next(remaining, None)
        return None if planned is None else _Try(planned=planned)

    def _next(self) -> Any:
        while True:
            ended, _ = ray.wait(list(self._under_way), num_returns=1, timeout=_LOOKS_EVERY_S)
            if ended:
                return ended[0]

    def _fetched(self, ref: Any, tried: _Try, station: RunNode) -> Delivered | None:
        """None where the run's budget ended the trial."""
        try:
            answer: Delivered | NodeProblem | None = ray.get(ref)
        except RayTaskError:
            raise
        except RayError:
            if not station.lost:
                self.say(f"node {station.node} is lost; its trials are retried")
            station.lost = True
            return self._failed(tried, f"node {station.node} was lost while the trial ran on it")
        if isinstance(answer, NodeProblem):
            return self._failed(tried, f"node {station.node}: {answer.message}")
        return answer

    def _failed(self, tried: _Try, reason: str) -> Delivered:
        job, planned = self.job, tried.planned
        case = case_of(job.plan.suite, planned.case_id)
        trial = failed_trial(job.plan.suite, job.agent.name, planned.case_id, planned.attempt, reason)
        card = job.scorer.score(Evidence(case=case, trial=trial, tools=job.plan.suite.tools))
        return Delivered(trial=trial, spans=(), card=card)


def _commit(delivered: Delivered, folder: RunFolder) -> None:
    trial = delivered.trial
    if delivered.live_cassette is not None:
        name = f"{trial.case_id}.{trial.attempt}.yaml"
        write_atomically(folder.path / FOLDER / folder.manifest.suite / name, delivered.live_cassette)
    with temporary_folder() as at:
        files = {**({} if delivered.archive is None else {"end_state.tar": delivered.archive}), **delivered.pictures}
        for name, content in files.items():
            (at / name).write_bytes(content)
        archive = None if delivered.archive is None else at / "end_state.tar"
        folder.commit(trial, delivered.spans, delivered.card, archive, *(at / name for name in delivered.pictures))
