"""The interface of executors, which run trials on this machine or on a cluster."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Protocol

from harness.pipeline.execution.attempt import Ended
from harness.pipeline.execution.environment import RunSetup
from harness.pipeline.plan.plan import RunPlan
from harness.results import PlannedTrial, RunFolder
from harness.runner import Agent
from harness.score import Scorer


@dataclass(frozen=True, kw_only=True)
class Job:
    """The shared inputs of the trials of one run."""

    plan: RunPlan
    run: str
    """The run's name."""
    world: RunSetup
    agent: Agent
    scorer: Scorer


class Executor(Protocol):
    """Runs planned trials."""

    def run(self, tasks: Iterable[PlannedTrial], folder: RunFolder) -> Generator[Ended, None, None]:
        """Yields the result of each task after it was committed to `folder`.

        A task is taken when its turn has come, not before. Closing the generator ends what is still running.
        """
        ...
