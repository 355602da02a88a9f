"""Trials that are run otherwise than their case says: many small runs in one open world.

The images, the snapshot, the gateway and the services that trials can share are opened once, so that a further trial
costs no more than itself.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from threading import Event

from harness.case import Case, Suite, ToolMode, TrialVariant, suite_digest
from harness.errors import ResultsError
from harness.pipeline.attempt import Scored, scored
from harness.pipeline.executor import Job
from harness.pipeline.local import end_sandboxes, open_runner
from harness.pipeline.plan import RunPlan
from harness.pipeline.prepared import prepare
from harness.pipeline.run import manifest_of
from harness.pipeline.secrets import secret_values
from harness.pipeline.world import Say
from harness.results import PlannedTrial, RunFolder, begin_run, default_run_name
from harness.runner import TaskSlots, TrialRunner, run_all
from harness.sandbox import temporary_folder
from harness.score import Scorer, build_scorer
from harness.upstream import RateLimiter, share_services

VARIANTS_FOLDER = "runs/.variants"
"""Apart from the runs of the agent under test, which are compared with each other."""


@dataclass(frozen=True, kw_only=True)
class VariantRequest:
    """One trial that is to be run."""

    case: Case
    """A case of the suite, or a changed copy of one."""
    variant: TrialVariant = field(default_factory=TrialVariant)


@dataclass(frozen=True, kw_only=True)
class VariantResult:
    """One trial that was run; its files are there as long as the bench is open."""

    request: VariantRequest
    scored: Scored

    @property
    def success(self) -> bool | None:
        """Whether the trial succeeded; None where that is not known."""
        return self.scored.card.success


class VariantBench:
    """Runs variants, several at once, and keeps those that are asked for in a run folder."""

    def __init__(self, job: Job, runner: TrialRunner, files: Path) -> None:
        self._job = job
        self._runner = runner
        self._files = files
        self._numbers = count(1)
        self.trials_run = 0
        """The number of trials that were run so far."""

    @property
    def suite(self) -> Suite:
        return self._job.plan.suite

    @property
    def jobs(self) -> int:
        """Trials side by side."""
        return self._job.plan.jobs

    def run(self, requests: Sequence[VariantRequest]) -> list[VariantResult]:
        """The results in the order of the requests. Trials that the harness could not run are `harness_failed`.

        The first exception, Ctrl-C included, ends all trials and what they started.
        """
        stopping, found = Event(), dict[int, VariantResult]()

        def abort() -> None:
            stopping.set()
            end_sandboxes(self._runner)

        slots = TaskSlots(jobs=self._job.plan.jobs)
        tasks = list(enumerate(requests))
        with closing(run_all(tasks, lambda task: self._one(task[1]), slots, abort)) as results:
            for (place, _), result in results:
                found[place] = result
        return [found[place] for place, _ in tasks]

    def keep(self, results: Sequence[VariantResult], name: str | None = None) -> RunFolder:
        """Stores results as a run of their own in `VARIANTS_FOLDER`, and gives the run folder, closed for writing.

        The attempts of a case are numbered in the given order.
        """
        numbers: dict[str, int] = {}
        kept: list[tuple[PlannedTrial, VariantResult]] = []
        for result in results:
            case_id = result.request.case.id
            numbers[case_id] = numbers.get(case_id, 0) + 1
            kept.append((PlannedTrial(case_id=case_id, attempt=numbers[case_id]), result))
        plan = self._job.plan
        planned = tuple(sorted((one for one, _ in kept), key=lambda one: (one.case_id, one.attempt)))
        variants = {(one.case_id, one.attempt): result.request.variant for one, result in kept}
        changed = replace(plan, planned=planned, variants=variants, folder=VARIANTS_FOLDER)

        def begin(run: str) -> RunFolder:
            manifest = manifest_of(replace(self._job, plan=changed, run=run))
            with RunFolder.create(changed.runs, manifest) as folder:
                for one, result in kept:
                    _commit(folder, one, result.scored)
            return RunFolder.open(folder.path)

        return begin_run(
            changed.runs, name, default_run_name(plan.created, plan.suite.name, self._job.agent.name), begin
        )

    def _one(self, request: VariantRequest) -> VariantResult:
        number = next(self._numbers)
        key = (request.case.id, number)
        # Threads share the mapping; each touches its own key only.
        self._variants[key] = request.variant
        try:
            with scored(
                self._runner, self._scorer(request.case), request.case, number, self._files / str(number)
            ) as done:
                self.trials_run += 1
                return VariantResult(request=request, scored=done)
        finally:
            del self._variants[key]

    def _scorer(self, case: Case) -> Scorer:
        """The run's scorer, or one of its own for a case that the suite does not have."""
        if any(one.id == case.id for one in self.suite.cases):
            return self._job.scorer
        return build_scorer(self.suite.model_copy(update={"cases": (case,)}))

    @property
    def _variants(self) -> dict[tuple[str, int], TrialVariant]:
        variants = self._runner.variants
        assert isinstance(variants, dict)  # the bench's own
        return variants


@contextmanager
def open_variants(plan: RunPlan, say: Say) -> Iterator[VariantBench]:
    """Opens the world of a plan for variants. Raises what `run_plan` raises before its first trial."""
    plan = replace(plan, variants={})
    name = f"variants-{plan.created.strftime('%Y%m%d-%H%M%S-%f')}"
    job = prepare(plan).job(name, say)
    with ExitStack() as stack:
        files = stack.enter_context(temporary_folder())
        shared = open_runner(
            job, live_cassettes=files / "live", secrets=secret_values(plan.suite), limiter=RateLimiter(), tracing=None
        )
        yield VariantBench(job, stack.enter_context(shared), files)


def variant_tool_mode(suite: Suite) -> ToolMode:
    """Who answers the calls that no recording answers: the suite's own services where it has them.

    `live` where every server is a service that separates sessions by a header, or a program of the suite, so that
    trials share what is started; `sealed` where each trial needs services of its own; `replay` where a server lies
    outside of the environment.
    """
    if any(server.base_url is not None for server in suite.reached.values()) or suite.hosts:
        return "replay"
    return "live" if share_services(suite, "live") else "sealed"


def with_cases(plan: RunPlan, cases: Sequence[Case]) -> RunPlan:
    """The plan with other cases in its suite, whose digest is renewed."""
    suite = plan.suite.model_copy(update={"cases": tuple(cases)})
    return replace(plan, suite=suite.model_copy(update={"digest": suite_digest(suite)}))


def _commit(folder: RunFolder, planned: PlannedTrial, done: Scored) -> None:
    trial = done.trial.model_copy(update={"attempt": planned.attempt})
    card = done.card.model_copy(update={"attempt": planned.attempt})
    try:
        folder.commit(trial, done.spans, card, done.archive, *done.pictures)
    except ValueError as error:
        raise ResultsError(f"the trial {planned.case_id!r} cannot be stored: {error}") from None
