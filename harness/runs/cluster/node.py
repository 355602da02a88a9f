"""The node's side of a run on a cluster, its connection, and the budget that all nodes share."""

import functools
import hashlib
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import ray
from ray import ObjectRef
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import harness
from harness.errors import HarnessError, SandboxError, UsageError
from harness.gateway.budgets import Budget, OutOfBudget, RateLimiter
from harness.runs.cluster.messages import Delivered, NodeProblem, NodeRunSpec, suite_in, unpacked
from harness.runs.execution.environment import needs_of, open_world
from harness.runs.execution.executor import Job, scored
from harness.runs.execution.local import end_sandboxes, open_runner, open_tracing
from harness.runs.store.manifest import PlannedTrial
from harness.runs.trial.agents import open_agent
from harness.runs.trial.trial import TrialRunner
from harness.sandbox.engine import connect
from harness.sandbox.images.store import has_image, load_image
from harness.sandbox.ownership import private_folder, remove_private_folder
from harness.scoring.scorer import Scorer, build_scorer
from harness.suite.suites import case_of
from harness.suite.tools import Rate

if TYPE_CHECKING:
    pass


_ANSWERS_WITHIN_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Node:
    """One machine of the cluster."""

    id: str
    address: str
    processors: int

    def __str__(self) -> str:
        return f"{self.address} ({self.id[:8]})"


@contextmanager
def connected(address: str) -> Iterator[tuple[Node, ...]]:
    """The nodes with at least one processor for Ray; a head node without one is not used.

    Raises UsageError if no cluster answers at `address`.
    """
    if address.startswith("ray://"):
        raise UsageError(
            "RAY_ADDRESS is ray://...: a Ray client cannot deliver images",
            remedy="start the run on a machine of the cluster, with RAY_ADDRESS=HOST:PORT or none",
        )
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        _test_connection(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (OSError, RuntimeError, ValueError, RayError) as error:
        raise UsageError(
            f"no Ray cluster answers at {address!r}: {first_line(error)}",
            remedy="start one: `ray start --head` here, `ray start --address HOST:PORT` on the others",
        ) from None
    try:
        yield _nodes()
    finally:
        ray.shutdown()


@lru_cache(maxsize=1)
def program_digest() -> str:
    """Sha-256 over the installed harness: nodes with another one would run other trials."""
    root = Path(harness.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(root)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _nodes() -> tuple[Node, ...]:
    found = tuple(
        Node(id=node["NodeID"], address=node["NodeManagerAddress"], processors=int(node["Resources"].get("CPU", 0)))
        for node in ray.nodes()  # type: ignore[no-untyped-call]  # Ray has no annotation here
        if node["Alive"]
    )
    able = tuple(sorted((node for node in found if node.processors), key=lambda node: (node.address, node.id)))
    if not able:
        raise UsageError(f"none of the cluster's {len(found)} nodes has a processor for work")
    return able


def _test_connection(address: str) -> None:
    """Tests the connection first, because Ray would retry for two minutes. Raises OSError if nothing listens."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_ANSWERS_WITHIN_S).close()


def first_line(error: Exception) -> str:
    """The first line of an error's message; Ray's messages are a page long."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


# The budget and the rate limits that all nodes of a run share while tools or models answer live.
#
# They are stored in one actor beside the driver, which every live call queries: this takes a millisecond or two, and no
# node can spend the amount that another one has spent.


class ClusterMeter:
    """The one place: an actor. Its methods run one after the other, and waiting callers wait side by side."""

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget or Budget()
        self._limiter = RateLimiter()

    async def wait_for(self, name: str, rate: Rate | None) -> None:
        await self._limiter.wait_for(name, rate)

    async def hold(self, name: str, for_s: float) -> None:
        self._limiter.hold(name, for_s)

    async def admits_call(self, tool: str) -> tuple[bool, str | None]:
        """Also why not."""
        return self._budget.admits_call(tool), self._budget.reached

    async def charge(self, tokens: int, usd: float | None) -> None:
        self._budget.charge(tokens, usd)

    async def budget(self) -> Budget:
        return self._budget


def open_meter(budget: Budget | None) -> Any:
    """A handle of the run's meter, which may be sent to nodes. It ends with the driver."""
    here = NodeAffinitySchedulingStrategy(node_id=ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(ClusterMeter).options(num_cpus=0, scheduling_strategy=here).remote(budget)


@dataclass(kw_only=True)
class SharedBudget(Budget):
    """The run's budget, on a node; what is spent is known to the meter alone."""

    meter: Any = field(repr=False)

    @classmethod
    def of(cls, budget: Budget, meter: Any) -> "SharedBudget":
        return cls(usd=budget.usd, tokens=budget.tokens, calls=budget.calls, meter=meter)

    def charge(self, tokens: int, usd: float | None) -> None:
        ray.get(self.meter.charge.remote(tokens, usd))

    def admits_model(self) -> bool:
        self.reached = ray.get(self.meter.budget.remote()).reached
        return self.reached is None

    def admits_call(self, tool: str) -> bool:
        admitted, self.reached = ray.get(self.meter.admits_call.remote(tool))
        return bool(admitted)


class SharedLimiter(RateLimiter):
    """The run's rate limits, on a node."""

    def __init__(self, meter: Any) -> None:
        super().__init__()
        self._meter = meter

    def hold(self, name: str, for_s: float) -> None:
        self._meter.hold.remote(name, for_s)

    async def wait_for(self, name: str, rate: Rate | None) -> None:
        await self._meter.wait_for.remote(name, rate)


def bring_up_to_date(budget: Budget, meter: Any) -> None:
    """Updates the driver's budget by the amounts that the nodes have spent."""
    now: Budget = ray.get(meter.budget.remote())
    for name in ("spent_usd", "spent_tokens", "spent_calls", "reached"):
        setattr(budget, name, getattr(now, name))


Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")

_ENDS_WITHIN_S = 20.0


def errors_as_values(work: Callable[Asked, Answer]) -> Callable[Asked, Answer | NodeProblem]:
    """Wraps `work` so that an error of the harness is returned as a value."""

    @functools.wraps(work)
    def wrapped(*args: Asked.args, **kwargs: Asked.kwargs) -> Answer | NodeProblem:
        try:
            return work(*args, **kwargs)
        except HarnessError as error:
            return NodeProblem.of(error)

    return wrapped


class NodeWorker:
    """Its methods are called from the driver, several at a time."""

    def __init__(self) -> None:
        self._closing = ExitStack()
        self._opened: tuple[TrialRunner, Scorer, Path] | None = None
        self._exported: list[str] = []
        self._stopping = False
        self._running = 0
        self._ended = threading.Condition()

    def program(self) -> str:
        """Digest of the harness that is installed here."""
        return program_digest()

    @errors_as_values
    def missing(self, tags: Sequence[str]) -> list[str]:
        """Which of the images this node's container engine has not."""
        if not tags:
            return []
        client = connect()
        try:
            return [tag for tag in tags if not has_image(client, tag)]
        finally:
            client.close()

    @errors_as_values
    def load(self, tag: str, pieces: Sequence["ObjectRef[bytes]"]) -> None:
        """Fetches a saved image piece by piece and puts it into this node's container engine."""
        client = connect()
        try:
            with self._busy():
                load_image(client, tag, (ray.get(piece) for piece in pieces))
        finally:
            client.close()

    @errors_as_values
    def open(self, order: NodeRunSpec, secrets: Mapping[str, str], otlp_headers: Mapping[str, str]) -> None:
        """Gets ready for the order's trials. Raises what the same run would raise on one machine."""
        with self._busy(), ExitStack() as stack:
            project = private_folder()
            stack.callback(remove_private_folder, project)
            job = _job(order, project)
            live = project / "live"
            limiter = RateLimiter() if order.meter is None else SharedLimiter(order.meter)
            tracing = stack.enter_context(
                open_tracing(job, lambda report: self._exported.append(report.words), otlp_headers)
            )
            shared = open_runner(job, live_cassettes=live, secrets=secrets, limiter=limiter, tracing=tracing)
            runner = stack.enter_context(shared)
            self._opened = runner, job.scorer, live
            self._closing = stack.pop_all()

    def run(self, planned: PlannedTrial) -> Delivered | NodeProblem | None:
        """A trial, run and scored here; None if the run's budget ended it."""
        assert self._opened is not None  # the driver opens first
        runner, scorer, live = self._opened
        try:
            with self._busy(), scored(runner, scorer, case_of(runner.suite, planned.case_id), planned.attempt) as done:
                return Delivered.of(done, live / runner.suite.name / f"{planned.case_id}.{planned.attempt}.yaml")
        except OutOfBudget:
            return None
        except HarnessError as error:
            return NodeProblem.of(error, runner.gateway.clean)

    @errors_as_values
    def close(self) -> list[str]:
        """Ends all running work and removes all files of the run. Returns reports about exported spans."""
        with self._ended:
            self._stopping = True
        if self._opened is not None:
            end_sandboxes(self._opened[0])
        with self._ended:
            self._ended.wait_for(lambda: not self._running, timeout=_ENDS_WITHIN_S)
        self._closing.close()
        return self._exported

    @contextmanager
    def _busy(self) -> Iterator[None]:
        """What `close` waits for. Raises SandboxError once it was called."""
        with self._ended:
            if self._stopping:
                raise SandboxError("the run was stopped")
            self._running += 1
        try:
            yield
        finally:
            with self._ended:
                self._running -= 1
                self._ended.notify_all()


def _job(order: NodeRunSpec, project: Path) -> Job:
    """Rebuilds the driver's job from the files delivered to `project`. Raises SandboxError if they differ from those
    sent.
    """
    unpacked(order.archive, project)
    suite, budget = suite_in(project, order.plan.suite), order.plan.budget
    if budget is not None and order.meter is not None:
        budget = SharedBudget.of(budget, order.meter)
    plan = replace(order.plan, project=project, suite=suite, cassettes=None, budget=budget)
    # The driver has checked the keys: this machine's environment contains none.
    agent = open_agent(plan.suite, plan.agent, project / ".harness" / "agents")
    world = open_world(needs_of(plan), order.run, lambda _: None)
    if (agent.digest, world.snapshot_digest) != (order.agent_digest, order.snapshot_digest):
        raise SandboxError("the delivered agent or snapshot differs from the one that was sent")
    scorer = replace(build_scorer(plan.suite), reference_states=order.reference_states)
    return Job(plan=plan, run=order.run, world=world, agent=agent, scorer=scorer)
