"""Runs many trials with interventions in one open environment.

The images, the snapshot, the gateway and the services that trials can share are opened once, so that a further trial
costs no more than itself.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from threading import Event, Lock
from typing import Literal, TypeVar

from harness.errors import HarnessError, ResultsError
from harness.gateway.budgets import OutOfBudget, RateLimiter
from harness.gateway.upstream.tool_servers import share_services
from harness.runs.execution.environment import Say
from harness.runs.execution.executor import Job, ScoredAttempt, scored
from harness.runs.execution.local import end_sandboxes, open_runner
from harness.runs.execution.reference_states import ReferenceFailed, compared_case, played_states
from harness.runs.execution.run import manifest_of, prepare
from harness.runs.plan.plan import RunPlan, secret_values
from harness.runs.store.beside_trials import keep_reference_states
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, begin_run, default_run_name
from harness.runs.trial.agents import Agent
from harness.runs.trial.parallel import TaskSlots, run_all
from harness.runs.trial.trial import TrialRunner
from harness.sandbox.ownership import temporary_folder
from harness.scoring.evidence import Evidence, ReferenceState, asked_digest
from harness.scoring.scorer import Scorer, build_scorer
from harness.suite.cases import Case
from harness.suite.interventions import TrialVariant
from harness.suite.models import ToolMode
from harness.suite.suites import Suite
from harness.traces.outcomes import MEASURED


class VariantStates:
    """These states: known from the suite's cases, or played once for each reference and snapshot."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._guard = Lock()
        self._locks: dict[str, Lock] = {}
        self._known: dict[str, ReferenceState | None] = {}
        states = job.scorer.reference_states
        for case in job.plan.suite.cases:
            if case.id in states:
                self._known[self._key(case)] = states[case.id]

    def scorer(self, scorer: Scorer, case: Case) -> Scorer:
        """The scorer, which knows the state that the case's reference leaves.

        Without one, a check that compares with it cannot tell: the case has no reference, or its reference fails there.
        Raises SandboxError if it could not be played.
        """
        compared = compared_case(scorer, case)
        if compared is None:
            return scorer
        state = None if case.reference is None else self._state(case, scorer)
        return replace(scorer, reference_states={} if state is None else {case.id: state})

    def _state(self, case: Case, scorer: Scorer) -> ReferenceState | None:
        key = self._key(case)
        with self._guard:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            if key not in self._known:
                self._known[key] = self._reference_state(case, scorer, key)
        state = self._known[key]
        return None if state is None else state.model_copy(update={"case_id": case.id})

    def _reference_state(self, case: Case, scorer: Scorer, key: str) -> ReferenceState | None:
        suite = self._job.plan.suite.model_copy(update={"cases": (case,)})
        compared = compared_case(scorer, case)
        assert compared is not None  # the caller has found it
        try:
            job = replace(self._job, plan=replace(self._job.plan, suite=suite))
            (state,) = played_states(job, [compared], {case.id: key})
        except ReferenceFailed:
            return None
        return state

    def _key(self, case: Case) -> str:
        """Of the reference and all that decides its state; which other tools the case has does not."""
        same = case.model_copy(update={"id": "variant", "tools": None, "snapshot": None})
        return f"{asked_digest(self._job.plan.suite, same)} {self._job.world.snapshot_of(case).digest}"


Kept = TypeVar("Kept")

VARIANTS_FOLDER = "runs/.variants"
"""A separate folder, so that these runs are not compared with those of the agent under test."""


@dataclass(frozen=True, kw_only=True)
class VariantRequest:
    """A requested trial."""

    case: Case
    """A case of the suite, or a changed copy of one."""
    variant: TrialVariant = field(default_factory=TrialVariant)
    agent: Agent | None = None
    """The agent of this trial; None: the agent of the plan."""


@dataclass(frozen=True, kw_only=True)
class VariantResult:
    """One trial that was run; its files are there as long as the bench is open."""

    request: VariantRequest
    scored: ScoredAttempt

    @property
    def success(self) -> bool | None:
        """Whether the trial succeeded; None if that is not known."""
        return self.scored.card.success


class VariantBench:
    """Runs variants in parallel, and stores selected ones in a run folder."""

    def __init__(self, job: Job, runner: TrialRunner, files: Path, narrow: Callable[[Scorer], Scorer]) -> None:
        """`narrow` leaves out what is not evaluated of a trial."""
        self._job = job
        self._runner = runner
        self._files = files
        self._narrow = narrow
        self._states = VariantStates(job)
        self._numbers = count(1)

    @property
    def suite(self) -> Suite:
        return self._job.plan.suite

    @property
    def jobs(self) -> int:
        """The number of parallel trials."""
        return self._job.plan.jobs

    def run(self, requests: Sequence[VariantRequest]) -> list[VariantResult]:
        """The results in the order of the requests. Trials that the harness could not run are `harness_failed`.

        The first exception, Ctrl-C included, ends all trials and what they started.
        """
        found = {}
        slots, tasks = TaskSlots(jobs=self._job.plan.jobs), list(enumerate(requests))
        with closing(run_all(tasks, lambda task: self._run_variant(task[1]), slots, self._end_sandboxes)) as results:
            for (place, _), result in results:
                found[place] = result
        return [found[place] for place, _ in tasks]

    def each(
        self, requests: Sequence[VariantRequest], then: Callable[[VariantResult], Kept], stopping: Event
    ) -> Generator[tuple[int, Kept], None, None]:
        """What `then` makes of each result, with the place of its request, as it ends; `then` runs beside other trials.

        If `stopping` is set, or a trial or `then` raises, no further trial begins; those that run are finished and
        yielded, because they are paid for. Then the first exception is raised. An exception in the caller's own loop,
        a second Ctrl-C among them, ends the trials at once.
        """
        errors: list[HarnessError | OutOfBudget] = []

        def work(task: tuple[int, VariantRequest]) -> tuple[int, Kept] | None:
            try:
                return task[0], then(self._run_variant(task[1]))
            except (HarnessError, OutOfBudget) as error:  # raised below, when the other trials have ended
                errors.append(error)
                return None

        tasks = (one for one in enumerate(requests) if not errors and not stopping.is_set())
        with closing(run_all(tasks, work, TaskSlots(jobs=self.jobs), self._end_sandboxes)) as results:
            for _, done in results:
                if done is not None:
                    yield done
        if errors:
            raise errors[0]

    def _end_sandboxes(self) -> None:
        end_sandboxes(self._runner)

    def keep(self, results: Sequence[VariantResult], name: str | None = None) -> RunFolder:
        """Stores results as a run of their own in `VARIANTS_FOLDER`, and gives the run folder, closed for writing.

        The attempts of a case are numbered in the given order. The manifest names the agent of the plan: results of
        other agents are not to be kept.
        """
        numbers: dict[str, int] = {}
        kept: list[tuple[PlannedTrial, VariantResult]] = []
        for result in results:
            case_id = result.request.case.id
            numbers[case_id] = numbers.get(case_id, 0) + 1
            kept.append((PlannedTrial(case_id=case_id, attempt=numbers[case_id]), result))
        plan, states = self._job.plan, self._job.scorer.reference_states
        planned = tuple(sorted((one for one, _ in kept), key=lambda one: (one.case_id, one.attempt)))
        variants = {(one.case_id, one.attempt): result.request.variant for one, result in kept}
        changed = replace(plan, planned=planned, variants=variants, folder=VARIANTS_FOLDER)

        def begin(run: str) -> RunFolder:
            manifest = manifest_of(replace(self._job, plan=changed, run=run))
            with RunFolder.create(changed.runs, manifest) as folder:
                keep_reference_states(folder, {name: one for name, one in states.items() if name in numbers})
                for one, result in kept:
                    _commit(folder, one, result.scored)
            return RunFolder.open(folder.path)

        return begin_run(
            changed.runs, name, default_run_name(plan.created, plan.suite.name, self._job.agent.name), begin
        )

    def _run_variant(self, request: VariantRequest) -> VariantResult:
        number = next(self._numbers)
        key = (request.case.id, number)
        # Threads share the mapping; each touches its own key only.
        self._variants[key] = request.variant
        case = request.case
        runner = self._runner if request.agent is None else replace(self._runner, agent=request.agent)
        scorer = self._scorer(case)
        try:
            with scored(runner, scorer, case, number, self._files / str(number)) as done:
                return VariantResult(request=request, scored=self._scored_attempt(done, scorer, case))
        finally:
            del self._variants[key]

    def _scored_attempt(self, done: ScoredAttempt, scorer: Scorer, case: Case) -> ScoredAttempt:
        """The trial, whose end is also compared with what the reference leaves if a check asks for that and the run
        does not know it: the case was changed.
        """
        trial = done.trial
        if case.id in scorer.reference_states or trial.outcome not in MEASURED or trial.unreadable:
            return done
        own = self._states.scorer(scorer, case)
        if not own.reference_states:
            return done
        evidence = Evidence(case=case, trial=trial, tools=self.suite.tools, end_state_archive=done.archive)
        return replace(done, card=own.score(evidence))

    def _scorer(self, case: Case) -> Scorer:
        """The run's scorer, or one of its own for a case that the suite does not have."""
        if any(one.id == case.id for one in self.suite.cases):
            return self._job.scorer
        return self._narrow(build_scorer(self.suite.model_copy(update={"cases": (case,)})))

    @property
    def _variants(self) -> dict[tuple[str, int], TrialVariant]:
        variants = self._runner.variants
        assert isinstance(variants, dict)  # the bench's own
        return variants


@contextmanager
def open_variants(plan: RunPlan, say: Say, *, evaluated: Literal["all", "causes"] = "all") -> Iterator[VariantBench]:
    """Opens the world of a plan for variants. Raises what `run_plan` raises before its first trial.

    `evaluated`: of each trial, besides its checks: metrics and detectors, or detectors if it has failed (`causes`). The
    answers of live tools are stored for `all` alone.
    """
    plan = replace(plan, variants={})
    name = f"variants-{plan.created.strftime('%Y%m%d-%H%M%S-%f')}"
    job = prepare(plan).job(name, say)
    narrow: Callable[[Scorer], Scorer] = Scorer.without_metrics if evaluated == "causes" else lambda scorer: scorer
    job = replace(job, scorer=narrow(job.scorer))
    with ExitStack() as stack:
        files = stack.enter_context(temporary_folder())
        live = files / "live" if evaluated == "all" else None
        shared = open_runner(
            job, live_cassettes=live, secrets=secret_values(plan.suite), limiter=RateLimiter(), tracing=None
        )
        yield VariantBench(job, stack.enter_context(shared), files, narrow)


def variant_tool_mode(suite: Suite) -> ToolMode:
    """The tool mode for calls without a recording: the suite's services, if it has any.

    `live` if every server is a service that separates sessions by a header, or a program of the suite, so that trials
    share what is started; `sealed` if each trial needs services of its own; `replay` if a server is outside of the
    environment.
    """
    if any(server.base_url is not None for server in suite.reached.values()):
        return "replay"
    return "live" if share_services(suite, "live") else "sealed"


def _commit(folder: RunFolder, planned: PlannedTrial, done: ScoredAttempt) -> None:
    trial = done.trial.model_copy(update={"attempt": planned.attempt})
    card = done.card.model_copy(update={"attempt": planned.attempt})
    try:
        folder.commit(trial, done.spans, card, done.archive, *done.pictures)
    except ValueError as error:
        raise ResultsError(f"the trial {planned.case_id!r} cannot be stored: {error}") from None
