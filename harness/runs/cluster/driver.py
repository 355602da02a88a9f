"""The driver's side of a run on a cluster: refuses, prepares the nodes, assigns trials, and stores the results."""

import os
import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from harness.cassettes.journals import FOLDER
from harness.disk import write_atomically
from harness.errors import SandboxError, UsageError
from harness.runs.cluster.messages import Delivered, NodeProblem, NodeRunSpec, packed
from harness.runs.cluster.node import (
    Node,
    NodeWorker,
    bring_up_to_date,
    connected,
    first_line,
    open_meter,
    program_digest,
)
from harness.runs.execution.environment import Say
from harness.runs.execution.executor import INFRASTRUCTURE_TRIES, Ended, Job
from harness.runs.plan.plan import RunPlan, secret_values
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial
from harness.runs.trial.trial import failed_trial
from harness.sandbox.engine import connect
from harness.sandbox.images.store import saved_image
from harness.sandbox.ownership import temporary_folder
from harness.scoring.evidence import Evidence
from harness.suite.suites import case_of
from harness.traces.exporting import otlp_headers

_TAKES_WITHIN_S = 180.0
_TELLS_AFTER_S = 5.0
_INSTALL = "install the same version of harness, with its extra `ray`, in the Python of every node's `ray start`"
_CLEARS_WITHIN_S = 40.0
_PIECE_BYTES = 32 * 1024 * 1024


@dataclass(kw_only=True, eq=False)
class RunNode:
    """A node that runs trials of a run, as the driver sees it."""

    node: Node
    worker: Any
    """Handle of the actor on the node."""
    slots: int
    """The number of parallel trials."""
    running: int = 0
    lost: bool = False

    @property
    def is_free(self) -> bool:
        return not self.lost and self.running < self.slots


@dataclass(frozen=True, kw_only=True)
class NodeSecrets:
    """Values that nodes receive separately from the order, since they must not be stored."""

    secrets: dict[str, str]
    otlp_headers: dict[str, str]
    """Headers of every request to the collector of spans."""


@contextmanager
def opened_stations(nodes: Sequence[Node], jobs: int | None, say: Say) -> Iterator[list[RunNode]]:
    """A worker on every node that takes one; afterwards nothing of the run is left on any of them.

    Raises UsageError if a node has another harness, SandboxError if none of them answers.
    """
    stations = [_start_node(node, jobs) for node in nodes]
    try:
        yield _answering(stations, say)
    finally:
        _clear(stations, say)


def make_ready(
    stations: Sequence[RunNode], tags: Sequence[str], order: NodeRunSpec, keys: NodeSecrets, say: Say
) -> list[RunNode]:
    """Delivers the files of the run, each once per node, and opens the run there; returns the remaining nodes.

    Keys are passed with the call itself, because objects in the cluster's object store may be written to disks. Raises
    the first problem that a node reports.
    """
    lacking = asked(stations, lambda station: station.worker.missing.remote(list(tags)), say)
    for tag in tags:
        without = [station for station, missing in lacking if tag in missing]
        if without:
            _deliver(tag, without, say)
    sent, left = ray.put(order), [station for station, _ in lacking]
    ready = asked(left, lambda station: station.worker.open.remote(sent, keys.secrets, keys.otlp_headers), say)
    return [station for station, _ in ready]


def asked(
    stations: Sequence[RunNode], ask: Callable[[RunNode], Any], say: Say, timeout_s: float | None = None
) -> list[tuple[RunNode, Any]]:
    """Calls all nodes at once; returns the answers of the nodes that were not lost. Raises the problem that a node
    reports.

    `timeout_s`: how long busy nodes are waited for, all together; if all are busy, until one is free.
    """
    refs = {ask(station): station for station in stations if not station.lost}
    if timeout_s is not None:
        _wait_for(refs, timeout_s, say)
    answers = []
    for ref, station in refs.items():
        try:
            answer = ray.get(ref, timeout=timeout_s and _TELLS_AFTER_S)
        except RayTaskError as error:
            raise _not_installed(station.node, error) from None
        except GetTimeoutError:
            station.lost = True
            ray.kill(station.worker)
            say(f"node {station.node} is skipped: it accepted no work within {timeout_s:g} s")
        except RayError as error:
            station.lost = True
            say(f"node {station.node} is lost: {first_line(error)}")
        else:
            if isinstance(answer, NodeProblem):
                raise answer.error(station.node)
            answers.append((station, answer))
    if not answers:
        raise SandboxError("no node of the cluster is left", remedy="`ray status` lists the nodes")
    return answers


def _wait_for(refs: Mapping[Any, RunNode], timeout_s: float, say: Say) -> None:
    for ref in ray.wait([*refs], num_returns=len(refs), timeout=_TELLS_AFTER_S)[1]:
        say(f"node {refs[ref].node} is busy or starting: the run waits for it, up to {timeout_s:g} s")
    ray.wait([*refs], num_returns=len(refs), timeout=timeout_s)
    ray.wait([*refs], num_returns=1)


def _not_installed(node: Node, error: RayTaskError) -> Exception:
    """In words, if the node cannot import what it is sent; else the error itself."""
    missing = re.search(r"^\w*(?:ModuleNotFound|Import)Error: .*", str(error), re.M)
    problem = "" if missing is None else f"node {node} cannot load the harness: {missing[0]}"
    return UsageError(problem, remedy=_INSTALL) if problem else error


def _start_node(node: Node, jobs: int | None) -> RunNode:
    """The processors that it takes are taken for Ray's other users too."""
    slots = jobs or node.processors
    worker = ray.remote(NodeWorker).options(
        num_cpus=min(slots, node.processors),
        max_concurrency=slots + 1,  # one for `close`
        scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node.id, soft=False),
    )
    return RunNode(node=node, worker=worker.remote(), slots=slots)


def _answering(stations: Sequence[RunNode], say: Say) -> list[RunNode]:
    own = program_digest()
    found = asked(stations, lambda station: station.worker.program.remote(), say, _TAKES_WITHIN_S)
    others = [str(station.node) for station, digest in found if digest != own]
    if others:
        raise UsageError(
            f"the harness on node {', '.join(others)} differs from the one on this machine",
            remedy=_INSTALL,
        )
    return [station for station, _ in found]


def _deliver(tag: str, stations: Sequence[RunNode], say: Say) -> None:
    client = connect()
    try:
        pieces = [(ray.put(piece), len(piece)) for piece in saved_image(client, tag, _PIECE_BYTES)]
    finally:
        client.close()
    size_mb = sum(size for _, size in pieces) / 1_000_000
    to = ", ".join(str(station.node) for station in stations)
    say(f"image {tag} ({size_mb:.0f} MB) goes to node {to}")
    refs = [ref for ref, _ in pieces]
    asked(stations, lambda station: station.worker.load.remote(tag, refs), say)


def _clear(stations: Sequence[RunNode], say: Say) -> None:
    """Closes the run on the nodes, and reports their messages about exported spans."""
    refs = {station.worker.close.remote(): station for station in stations}  # the call of a lost node fails at once
    try:
        cleared, _ = ray.wait(list(refs), num_returns=len(refs), timeout=_CLEARS_WITHIN_S)
        for ref in cleared:
            for line in _problems_of(ref):
                say(f"node {refs[ref].node}: {line}")
    finally:
        for station in stations:
            ray.kill(station.worker)


def _problems_of(ref: Any) -> list[str]:
    try:
        answer: list[str] | NodeProblem = ray.get(ref)
    except RayError:
        return []
    return [answer.message] if isinstance(answer, NodeProblem) else answer


# Rejects runs that a cluster cannot execute, before anything starts.


def refuse_unshareable(plan: RunPlan) -> None:
    """Raises UsageError for recordings, which the machines would have to write together, for task folders, whose images
    are on this machine, and for addresses of the machine itself, which on another one lead elsewhere.
    """
    planned = {one.case_id for one in plan.own}
    for case in plan.suite.cases:
        if case.task_folder is not None and case.id in planned:
            raise UsageError(
                f"case {case.id!r} is a task folder, which --executor ray does not support",
                remedy="run it on one machine: omit --executor",
            )
    if "record" in (plan.tools, plan.model_mode):
        raise UsageError(
            "a run that records writes the project's cassettes, which --executor ray does not support",
            remedy="record on one machine: omit --executor",
        )
    for what, address in _addresses(plan):
        if _is_loopback(address):
            raise UsageError(
                f"{what} is reached at {address}, which on every node of the cluster is that node itself",
                remedy="use an address that all nodes can reach",
            )


def _addresses(plan: RunPlan) -> Iterator[tuple[str, str]]:
    suite = plan.suite
    if plan.otlp_endpoint is not None:
        yield "--otlp", plan.otlp_endpoint
    if plan.tools == "live":
        for name, server in suite.reached.items():
            if server.base_url is not None:
                yield f"server {name!r}", server.base_url
    if suite.model is not None and plan.model_mode == "live":
        for provider, model in suite.model.servers.items():
            yield f"the model of {provider!r}", str(model.base_url)


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


# Trials of a lost node are tried once more on another node, like any trial that the harness could not run.

_LOOKS_EVERY_S = 1.0
"""Waiting is divided into intervals of this length, so that Ctrl-C is handled."""


@contextmanager
def opened(job: Job, say: Say) -> Iterator["ClusterExecutor"]:
    """The cluster's nodes, ready for the job."""
    plan = job.plan
    refuse_unshareable(plan)
    archive = packed(plan, (job.world.snapshot, *job.world.snapshots.values()))
    with (
        connected(os.environ.get("RAY_ADDRESS") or "auto") as nodes,
        opened_stations(nodes, plan.jobs_per_node, say) as stations,
    ):
        meter = open_meter(plan.budget) if "live" in (plan.tools, plan.model_mode) else None
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
    """None if no upstream is called live."""
    _under_way: dict[Any, tuple[_Try, RunNode]] = field(default_factory=dict)
    _again: deque[_Try] = field(default_factory=deque)

    def run(self, tasks: Iterable[PlannedTrial], folder: RunFolder) -> Generator[Ended, None, None]:
        """Raises SandboxError if trials remain and no node does; completed trials are kept."""
        remaining = iter(tasks)
        while self._send(remaining):
            ref = self._next()
            tried, station = self._under_way.pop(ref)
            station.running -= 1
            delivered = self._fetch_delivery(ref, tried, station)
            if self.meter is not None and self.job.plan.budget is not None:
                bring_up_to_date(self.job.plan.budget, self.meter)
            if delivered is None:
                yield None
                continue
            _commit(delivered, folder)
            cause = delivered.trial.cause
            tried.failures += (again := cause is not None and cause.is_tried_again)
            tried.failed_at = station
            if again and tried.failures < INFRASTRUCTURE_TRIES:
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

    def _fetch_delivery(self, ref: Any, tried: _Try, station: RunNode) -> Delivered | None:
        """None if the run's budget ended the trial."""
        try:
            answer: Delivered | NodeProblem | None = ray.get(ref)
        except RayTaskError:
            raise
        except RayError:
            if not station.lost:
                self.say(f"node {station.node} is lost; its trials are retried")
            station.lost = True
            return self._failed_delivery(tried, f"node {station.node} was lost while the trial ran on it")
        if isinstance(answer, NodeProblem):
            return self._failed_delivery(tried, f"node {station.node}: {answer.message}")
        return answer

    def _failed_delivery(self, tried: _Try, reason: str) -> Delivered:
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
