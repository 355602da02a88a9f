"""One try at one planned trial: run, scored, and on disk before the next one of its job slot begins."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from harness.case import Case, Suite
from harness.errors import ResultsError, UsageError
from harness.gateway.budget import OutOfBudget
from harness.results import PlannedTrial, RunFolder
from harness.runner.browsers import PICTURES
from harness.runner.trial import TrialRunner
from harness.sandbox.owner import temporary_folder
from harness.score import Evidence, Scorecard, Scorer
from harness.trace import Trial
from harness.trace.span import Span

INFRASTRUCTURE_TRIES = 2
"""A trial that the harness could not do is tried once more; the first record is kept beside the second."""

Ended = tuple[Trial, Scorecard] | None
"""How a planned trial ended; None: the run's budget ended it, so it was not run."""


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A trial that was run and scored, and is not kept yet."""

    trial: Trial
    spans: tuple[Span, ...]
    card: Scorecard
    archive: Path | None
    """The files that the agent changed."""
    pictures: tuple[Path, ...] = ()


@contextmanager
def scored(runner: TrialRunner, scorer: Scorer, case: Case, attempt: int) -> Iterator[Scored]:
    """Runs and scores `case` once; the files that it left are there as long as the context is.

    Raises OutOfBudget where the run's budget ended it.
    """
    with temporary_folder() as temporary:
        archive = temporary / "end_state.tar"
        trial, spans = runner.run_trial(case, attempt, archive)
        kept = archive if archive.exists() else None
        evidence = Evidence(case=case, trial=trial, tools=runner.suite.tools, end_state_archive=kept)
        yield Scored(
            trial=trial,
            spans=spans,
            card=scorer.score(evidence),
            archive=kept,
            pictures=tuple(sorted(archive.parent.glob(PICTURES))),
        )


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Runs, scores and commits one planned trial."""

    runner: TrialRunner
    folder: RunFolder
    scorer: Scorer
    stopping: Event

    def __call__(self, planned: PlannedTrial) -> Ended:
        """None where the run's budget ended it: such a trial was not run."""
        try:
            return self._tried(planned)
        except OutOfBudget:
            return None

    def _tried(self, planned: PlannedTrial) -> tuple[Trial, Scorecard]:
        case = case_of(self.runner.suite, planned.case_id)
        for _ in range(INFRASTRUCTURE_TRIES - 1):
            trial, card = self._once(case, planned.attempt)
            if trial.outcome != "harness_failed":
                return trial, card
        return self._once(case, planned.attempt)

    def _once(self, case: Case, attempt: int) -> tuple[Trial, Scorecard]:
        with scored(self.runner, self.scorer, case, attempt) as done:
            if self.stopping.is_set():
                raise ResultsError("the run was stopped; this trial is not kept")
            self.folder.commit(done.trial, done.spans, done.card, done.archive, *done.pictures)
        return done.trial, done.card


def case_of(suite: Suite, case_id: str) -> Case:
    """The case called `case_id`; raises UsageError where the suite has none."""
    for case in suite.cases:
        if case.id == case_id:
            return case
    raise UsageError(f"suite {suite.name!r} has no case {case_id!r}")
