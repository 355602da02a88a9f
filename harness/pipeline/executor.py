"""The seam of a run's trials: an executor runs them, on this machine or on those of a cluster."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Protocol

from harness.pipeline.attempt import Ended
from harness.pipeline.plan import RunPlan
from harness.pipeline.world import RunSetup
from harness.results import PlannedTrial, RunFolder
from harness.runner import Agent
from harness.score import Scorer


@dataclass(frozen=True, kw_only=True)
class Job:
    """What the trials of one run share, wherever they run."""

    plan: RunPlan
    run: str
    """The run's name."""
    world: RunSetup
    agent: Agent
    scorer: Scorer


class Executor(Protocol):
    """Runs planned trials."""

    def run(self, tasks: Iterable[PlannedTrial], folder: RunFolder) -> Generator[Ended, None, None]:
        """Yields how each task ended, after it was committed to `folder`.

        A task is taken when its turn has come, not before. Closing the generator ends what is still running.
        """
        ...
