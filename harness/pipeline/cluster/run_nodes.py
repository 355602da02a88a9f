"""The nodes of a cluster made ready for a run, and cleared again."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from harness.errors import SandboxError, UsageError
from harness.pipeline.cluster.connection import Node, first_line, program_digest
from harness.pipeline.cluster.messages import NodeProblem, NodeRunSpec
from harness.pipeline.cluster.node import NodeWorker
from harness.pipeline.execution.environment import Say
from harness.sandbox import connect, saved_image

_TAKES_WITHIN_S = 180.0
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

    Raises UsageError where a node has another harness, SandboxError where none of them answers.
    """
    stations = [_station(node, jobs) for node in nodes]
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
    """
    refs = [(station, ask(station)) for station in stations if not station.lost]
    answers = []
    for station, ref in refs:
        try:
            answer = ray.get(ref, timeout=timeout_s)
        except RayTaskError:
            raise
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


def _station(node: Node, jobs: int | None) -> RunNode:
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
            remedy="install the same version of harness, with its extra `ray`, on every node",
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
            for line in _reported(ref):
                say(f"node {refs[ref].node}: {line}")
    finally:
        for station in stations:
            ray.kill(station.worker)


def _reported(ref: Any) -> list[str]:
    try:
        answer: list[str] | NodeProblem = ray.get(ref)
    except RayError:
        return []
    return [answer.message] if isinstance(answer, NodeProblem) else answer
