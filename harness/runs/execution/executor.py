"""The interface of executors, and one attempt at a planned trial, which each of them makes."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Protocol

from harness.errors import ResultsError
from harness.gateway.budgets import OutOfBudget
from harness.runs.execution.environment import RunSetup
from harness.runs.plan.plan import RunPlan
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial
from harness.runs.trial.agents import Agent
from harness.runs.trial.end_state import PICTURES
from harness.runs.trial.trial import UNREADABLE, TrialRunner, described, unreadable_trial
from harness.sandbox.ownership import temporary_folder
from harness.scoring.evidence import Evidence
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import Scorer
from harness.suite.cases import Case
from harness.suite.suites import case_of
from harness.traces.spans import Span
from harness.traces.trial import Trial

INFRASTRUCTURE_TRIES = 2
"""The number of tries of a trial that failed for a reason that no agent can cause; the record of the first try is kept
beside the second, and the report names it.
"""

Ended = tuple[Trial, Scorecard] | None
"""The result of a planned trial; None: the budget was spent, so it was not run."""


@dataclass(frozen=True, kw_only=True)
class ScoredAttempt:
    """A trial that was run and scored, but is not stored yet."""

    trial: Trial
    spans: tuple[Span, ...]
    card: Scorecard
    archive: Path | None
    """The files that the agent changed."""
    pictures: tuple[Path, ...] = ()


@contextmanager
def scored(
    runner: TrialRunner, scorer: Scorer, case: Case, attempt: int, files: Path | None = None
) -> Iterator[ScoredAttempt]:
    """Runs and scores `case` once; the files that it left are in `files`, or there as long as the context is.

    Raises OutOfBudget if the run's budget ended it.
    """
    with temporary_folder() if files is None else nullcontext(_make_folder(files)) as temporary:
        archive = temporary / "end_state.tar"
        trial, spans = runner.run_trial(case, attempt, archive)
        kept = archive if archive.exists() else None
        evidence = Evidence(case=case, trial=trial, tools=runner.suite.tools, end_state_archive=kept)
        try:
            card = scorer.score(evidence)
        except UNREADABLE as error:
            yield without_what_was_left(scorer, evidence, error)
            return
        pictures = tuple(sorted(archive.parent.glob(PICTURES)))
        yield ScoredAttempt(trial=trial, spans=spans, card=card, archive=kept, pictures=pictures)


def _make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def without_what_was_left(scorer: Scorer, evidence: Evidence, error: BaseException) -> ScoredAttempt:
    """A failed trial without evidence, for an agent whose evidence cannot be scored or stored."""
    was = evidence.trial
    name, version = was.trajectory.agent, was.trajectory.version or ""
    trial = unreadable_trial(was.case_id, was.attempt, name, version, described(error))
    card = scorer.score(evidence.model_copy(update={"trial": trial, "end_state_archive": None}))
    return ScoredAttempt(trial=trial, spans=(), card=card, archive=None)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Runs, scores and commits one planned trial."""

    runner: TrialRunner
    folder: RunFolder
    scorer: Scorer
    stopping: Event

    def __call__(self, planned: PlannedTrial) -> Ended:
        """None if the run's budget ended it: such a trial was not run."""
        try:
            return self._run_trial(planned)
        except OutOfBudget:
            return None

    def _run_trial(self, planned: PlannedTrial) -> tuple[Trial, Scorecard]:
        case = case_of(self.runner.suite, planned.case_id)
        for _ in range(INFRASTRUCTURE_TRIES - 1):
            trial, card = self._run_attempt(case, planned.attempt)
            if trial.cause is None or not trial.cause.is_tried_again:
                return trial, card
        return self._run_attempt(case, planned.attempt)

    def _run_attempt(self, case: Case, attempt: int) -> tuple[Trial, Scorecard]:
        with scored(self.runner, self.scorer, case, attempt) as done:
            if self.stopping.is_set():
                raise ResultsError("the run was stopped; this trial is not stored")
            try:
                self.folder.commit(done.trial, done.spans, done.card, done.archive, *done.pictures)
            except UNREADABLE as error:
                evidence = Evidence(case=case, trial=done.trial, tools=self.runner.suite.tools)
                unreadable = without_what_was_left(self.scorer, evidence, error)
                self.folder.commit(unreadable.trial, unreadable.spans, unreadable.card)
                return unreadable.trial, unreadable.card
        return done.trial, done.card


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
