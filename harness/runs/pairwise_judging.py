"""Two stored runs compared by a criterion, case by case: each comparison is on disk as soon as it is made."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.errors import HarnessError, NotMeasured, UsageError
from harness.gateway.budgets import Budget, OutOfBudget
from harness.gateway.models.client import ModelClient
from harness.gateway.models.recordings import AskMode, ModelCassette
from harness.judging.judge import JudgedTrial, why_not_eligible
from harness.judging.pairwise import ComparisonScore, Pairwise, PairwiseComparison, comparison_score
from harness.judging.prompts import Prompt
from harness.judging.rubrics import Criterion, Rubric
from harness.judging.settings import JudgeSettings
from harness.judging.verdicts import JudgeIdentity
from harness.runs.judging import asker_of, family_warning
from harness.runs.measured_trials import suite_of
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import add_comparison, read_comparisons
from harness.suite.suites import Suite, check_cases
from harness.traces.outcomes import MEASURED
from harness.values import Frozen

PROMPT = "compare"
"""The registry's prompt of comparisons."""

_CASSETTE = "~compare"
"""Comparisons of a case have a cassette beside the one of its judgements."""


@dataclass(frozen=True, kw_only=True)
class PairRequest:
    """The request of a pairwise comparison."""

    rubric: Rubric
    criterion: str
    prompt: Prompt
    settings: JudgeSettings
    mode: AskMode = "auto"
    budget: Budget | None = None
    cases: tuple[str, ...] = ()
    """Only these; empty: all that both runs have."""
    say: Callable[[str], None] = lambda _: None
    """Receives a message for each parameter that the model rejects."""


class Paired(Frozen):
    """The result of comparing two runs."""

    run_a: str
    run_b: str
    rubric: str
    score: ComparisonScore
    """The score of all requested comparisons, including those made earlier."""
    comparisons: tuple[PairwiseComparison, ...]
    before: int
    """Earlier comparisons that are still valid."""
    alike: int
    """The number of pairs that show the judge identical inputs: they are not judged, and count in no figure."""
    not_eligible: int
    """The number of pairs in which the criterion applies to at most one of the two, as decided by code: they are not
    judged.
    """
    unmatched: int
    """The number of attempts of run B without a measured counterpart in run A, or that were not measured themselves."""
    calls: int
    recorded: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    stopped: str | None
    warning: str | None


def compare_pairs(project: Path, a: RunFolder, b: RunFolder, request: PairRequest) -> Paired:
    """Compares attempt k of a case in `a` with attempt k in `b`.

    Raises UsageError for a criterion or case that does not exist and for a criterion that code decides, NotMeasured
    if the runs have no attempt in common that could be compared.
    """
    suite = suite_of(project, b)
    _check(request, suite)
    asker = asker_of(project, b, request.settings, request.mode, request.budget, request.say)
    session = _PairingSession(a=a, b=b, suite=suite, request=request, asker=asker)
    try:
        asyncio.run(session.sit())
    except* HarnessError as group:
        raise _first_error(group) from None
    return session.result()


@dataclass(kw_only=True)
class _PairingSession:
    """Two runs on their way: as many cases at a time as may be in flight, one question of each."""

    a: RunFolder
    b: RunFolder
    suite: Suite
    request: PairRequest
    asker: ModelClient
    found: list[PairwiseComparison] = field(default_factory=list)
    before: int = 0
    alike: int = 0
    not_eligible: int = 0
    unmatched: int = 0
    stopped: str | None = None

    @cached_property
    def identity(self) -> JudgeIdentity:
        return self.request.settings.identity(self.request.prompt, samples=1)

    @cached_property
    def done(self) -> dict[tuple[str, ...], PairwiseComparison]:
        """The stored comparisons of this judge of the same trajectories by the same rubric; empty if the judge is
        called live.
        """
        if self.request.mode == "live":
            return {}
        digest = self.request.rubric.digest
        return {
            (one.case_id, str(one.attempt), one.criterion, one.trajectory_a, one.trajectory_b): one
            for one in read_comparisons(self.b.path, self.request.rubric.name)
            if one.run_a == self.a.manifest.run
            and one.rubric_digest == digest
            and one.judge == self.identity
            and one.preference.failure is None
        }

    async def sit(self) -> None:
        wanted = self.request.cases
        planned = dict.fromkeys(one.case_id for one in self.b.manifest.planned)
        cases = iter([case for case in planned if not wanted or case in wanted])
        async with self.asker, asyncio.TaskGroup() as group:
            for _ in range(min(self.request.settings.in_flight, len(planned))):
                group.create_task(self._work(cases))

    async def _work(self, cases: Iterator[str]) -> None:
        for case in cases:
            if self.stopped is not None:
                return
            pairs = await asyncio.to_thread(self._trial_pairs, case)
            try:
                await self._case(case, pairs)
            except OutOfBudget as error:
                self.stopped = str(error)

    async def _case(self, case: str, pairs: list[tuple[JudgedTrial, JudgedTrial]]) -> None:
        wanted = self.request.criterion
        asked = [one for one in self.request.rubric.criteria_for(case) if wanted in (one.id, one.id.rpartition(".")[0])]
        async with self.asker.cassette(f"{case}{_CASSETTE}") as cassette:
            for pair in pairs:
                for criterion in asked:
                    await self._compare(cassette, criterion, *pair)

    def _trial_pairs(self, case: str) -> list[tuple[JudgedTrial, JudgedTrial]]:
        found = []
        for attempt in [one.attempt for one in self.b.manifest.planned if one.case_id == case]:
            pair = [self._subject(folder, case, attempt) for folder in (self.a, self.b)]
            if pair[0] is None or pair[1] is None:
                self.unmatched += 1
            else:
                found.append((pair[0], pair[1]))
        return found

    def _subject(self, folder: RunFolder, case: str, attempt: int) -> JudgedTrial | None:
        trial = folder.trial(case, attempt)
        if trial is None or trial.outcome not in MEASURED:
            return None
        known = next((one for one in self.suite.cases if one.id == case), None)
        return JudgedTrial.of(folder.manifest.run, trial, known)

    async def _compare(self, cassette: ModelCassette, criterion: Criterion, a: JudgedTrial, b: JudgedTrial) -> None:
        if any(why_not_eligible(self.request.rubric, one, criterion) is not None for one in (a, b)):
            self.not_eligible += 1
            return
        if a.shown(criterion).digest == b.shown(criterion).digest:
            self.alike += 1
            return
        held = self.done.get((a.trial.case_id, str(a.trial.attempt), criterion.id, a.digest, b.digest))
        if held is not None:
            self.before += 1
            self.found.append(held)
            return
        pairwise = Pairwise(
            criterion=criterion, prompt=self.request.prompt, model=self.request.settings.model, asker=self.asker
        )
        preference = await pairwise.compare(cassette, a.shown(criterion).pieces, b.shown(criterion).pieces)
        rubric = self.request.rubric
        made = PairwiseComparison(
            run_a=a.run,
            run_b=b.run,
            case_id=b.trial.case_id,
            attempt=b.trial.attempt,
            trajectory_a=a.digest,
            trajectory_b=b.digest,
            rubric=rubric.name,
            rubric_version=rubric.version,
            rubric_digest=rubric.digest,
            criterion=criterion.id,
            criterion_version=criterion.version,
            judge=self.identity,
            preference=preference,
        )
        add_comparison(self.b.path, made)
        self.found.append(made)

    def result(self) -> Paired:
        """Raises NotMeasured if no pair of attempts was there."""
        if not self.found and not self.alike and not self.not_eligible and self.stopped is None:
            raise NotMeasured(
                f"{self.a.manifest.run} and {self.b.manifest.run} have no measured attempt of the same case",
                remedy="compare runs of the same suite and cases",
            )
        spent, found = self.asker.spent, sorted(self.found, key=lambda one: (one.case_id, one.attempt, one.criterion))
        return Paired(
            run_a=self.a.manifest.run,
            run_b=self.b.manifest.run,
            rubric=self.request.rubric.name,
            score=comparison_score(self.request.criterion, found),
            comparisons=tuple(found),
            before=self.before,
            alike=self.alike,
            not_eligible=self.not_eligible,
            unmatched=self.unmatched,
            **vars(spent),
            stopped=self.stopped,
            warning=family_warning(self.request.settings.model, (self.a, self.b)),
        )


def _check(request: PairRequest, suite: Suite) -> None:
    criterion = request.rubric.criterion(request.criterion)
    if criterion is None:
        raise UsageError(
            f"rubric {request.rubric.name!r} has no criterion {request.criterion}",
            remedy=f"criteria of the rubric: {', '.join(sorted(one.id for one in request.rubric.criteria))}",
        )
    if criterion.kind == "code":
        raise UsageError(
            f"criterion {request.criterion!r} is decided by code, which has no preference between two passes",
            remedy="use harness judge run and compare the scores",
        )
    check_cases(suite, request.cases)


def _first_error(group: BaseExceptionGroup[HarnessError]) -> HarnessError:
    error = group.exceptions[0]
    return _first_error(error) if isinstance(error, BaseExceptionGroup) else error
