"""The node's side of a run: an actor that opens the run, runs trials, and cleans up."""

import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import ray
from ray import ObjectRef

from harness.case import case_of
from harness.errors import HarnessError, SandboxError
from harness.pipeline.cluster.connection import program_digest
from harness.pipeline.cluster.delivery import suite_in, unpacked
from harness.pipeline.cluster.messages import Delivered, NodeProblem, NodeRunSpec
from harness.pipeline.cluster.meter import SharedBudget, SharedLimiter
from harness.pipeline.execution.attempt import scored
from harness.pipeline.execution.environment import open_world
from harness.pipeline.execution.executor import Job
from harness.pipeline.execution.local import end_sandboxes, open_runner
from harness.pipeline.execution.tracing import open_tracing
from harness.pipeline.plan.needs import needs_of
from harness.results import PlannedTrial
from harness.runner import TrialRunner, open_agent
from harness.sandbox import connect, has_image, load_image, private_folder, remove_private_folder
from harness.score import Scorer, build_scorer
from harness.upstream import OutOfBudget, RateLimiter

if TYPE_CHECKING:
    from harness.trace import ExportReport

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
            tracing = stack.enter_context(open_tracing(job, self._note, otlp_headers))
            shared = open_runner(job, live_cassettes=live, secrets=secrets, limiter=limiter, tracing=tracing)
            runner = stack.enter_context(shared)
            self._opened = runner, job.scorer, live
            self._closing = stack.pop_all()

    def run(self, planned: PlannedTrial) -> Delivered | NodeProblem | None:
        """A trial, run and scored here; None where the run's budget ended it."""
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

    def _note(self, report: "ExportReport") -> None:
        self._exported.append(report.words)

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
    """Rebuilds the driver's job from the files delivered to `project`. Raises SandboxError where they differ from those
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
