"""An optimisation of a suite, from what was typed to its outcome in a run folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

from harness.case import Case, Suite
from harness.errors import UsageError
from harness.judge import JudgeSettings, ModelReflector, Reflector, Rubric
from harness.optimise.candidates.candidate import Candidate, candidate_of
from harness.optimise.candidates.components import components_of, declared_by
from harness.optimise.looks import HeldOutUse, earlier_looks, looks_path, record_look, refuse_second_look
from harness.optimise.optimisation import Optimisation
from harness.optimise.outcome import OptimisationOutcome
from harness.optimise.resolving import OptimiseRequest, ResolvedRequest, Say, acting
from harness.optimise.rollouts.dry_trials import dry_trial
from harness.optimise.rollouts.invocations import AgentInvocation
from harness.optimise.rollouts.rollout import Rollout, Rollouts
from harness.optimise.rollouts.spending import CostEstimate, SearchBudget, SpendingMeter
from harness.optimise.rollouts.trial_verdict import TrialJudge, open_judge
from harness.optimise.searching.objective import WeightedObjective
from harness.optimise.searching.optimisers import optimisers_of
from harness.optimise.searching.rule_reflector import RuleReflector, read_rule_book
from harness.optimise.searching.splitting import CaseSplit, split_cases
from harness.optimise.stored import StoredOptimisation
from harness.optimise.unread import refuse_unopened
from harness.pipeline import plan_of, secrets_of
from harness.results import check_run_name
from harness.results.lock import WriterLock
from harness.upstream import Budget, ModelClient, ModelClientOptions


@dataclass(frozen=True, kw_only=True)
class PreparedOptimisation:
    """An optimisation that can be run; nothing is spent, opened or written yet."""

    request: OptimiseRequest
    resolved: ResolvedRequest
    stored: StoredOptimisation
    reflector: Reflector
    judge: TrialJudge
    budget: Budget
    looks: Sequence[HeldOutUse]
    """Earlier ones at the same held-out cases."""

    @property
    def estimate(self) -> CostEstimate:
        """The most that it may take."""
        return self._optimisation(_NoRollouts(), SpendingMeter()).estimate()

    def check(self) -> None:
        """Raises UsageError for what could not be determined, with the figure that would do."""
        self._optimisation(_NoRollouts(), SpendingMeter(limits=self.request.limits)).check()

    def run(self, say: Say = lambda _: None, stopping: Event | None = None) -> OptimisationOutcome:
        """Runs or continues it, and writes its outcome.

        Where `stopping` is set, the trials that run are finished and kept, and KeyboardInterrupt is raised. Raises
        OutOfBudget, UsageError, and as trials do.
        """
        stopping = stopping or Event()
        meter = SpendingMeter(limits=self.request.limits, budget=self.budget, stopping=stopping)
        self.stored.begin(self.resolved.asked)
        if (unguarded := self._guarded()) is not None:
            say(unguarded)
        lock = WriterLock(self.stored.folder)
        try:
            if not (self.stored.folder / "journal.jsonl").exists():  # nothing is spent yet
                self._refuse_unopened()
            asking = SpendingMeter(limits=self.request.limits, budget=self.budget, stopping=stopping)
            self._optimisation(_NoRollouts(), asking).probe()
            with self.resolved.rollouts(self.judge, self.budget, say, stopping) as rollouts:
                outcome = self._optimisation(rollouts, meter).run(say)
            self.stored.finish(outcome)
        finally:
            lock.close()
        return outcome

    def _optimisation(self, rollouts: Rollouts, meter: SpendingMeter) -> Optimisation:
        request, resolved, suite = self.request, self.resolved, self.resolved.plan.suite
        name, again, cases = self.stored.folder.name, bool(self.looks), set(resolved.asked.cases)
        return Optimisation(
            suite=suite.name,
            mode=request.mode,
            component=request.component,
            start=candidate_of(resolved.texts),
            components=resolved.components,
            agent_components=components_of(suite),
            cases={
                case.id: said_in(case, resolved.invocations.get(case.id, ()))
                for case in suite.cases
                if case.id in cases
            },
            objective=WeightedObjective(weights=resolved.rubric.weights, safety=declared_by(suite).safety),
            rollouts=rollouts,
            reflector=self.reflector,
            optimisers=optimisers_of(request.optimiser),
            window_tokens=declared_by(suite).window_tokens,
            settings=resolved.settings,
            meter=meter,
            folder=self.stored.folder,
            known_use=resolved.known_use,
            demand=resolved.demand,
            looks_before=len(self.looks),
            about_to_look=lambda held: record_look(looks_path(suite.folder), _look(name, request, held, again)),
        )

    def _refuse_unopened(self) -> None:
        """Raises UsageError for a component whose texts the program does not open, as far as that is known for free."""
        resolved, trace = self.resolved, self.request.trace
        case = split_cases(resolved.asked.cases).train[0]
        asked = resolved.invocations[case][0] if resolved.invocations else None
        known = () if trace is None or asked is not None else acting(resolved.plan, trace)
        found = dry_trial(resolved.plan, candidate_of(resolved.texts), case, asked, lambda _: None)
        refuse_unopened(found, resolved.components, known)

    def _guarded(self) -> str | None:
        """What is said where no criterion can veto a candidate."""
        rubric, safety = self.resolved.rubric, declared_by(self.resolved.plan.suite).safety
        if any(one.critical or one.domain in safety for one in rubric.criteria):
            return None
        return (
            f"no criterion of the rubric {rubric.name!r} is critical or of a domain of safety: forbidden calls alone "
            "are vetoed" + ("; confirm the result with --mode joint" if self.request.component else "")
        )


def prepare_optimisation(project: Path, request: OptimiseRequest) -> PreparedOptimisation:
    """Raises UsageError for what cannot be determined, before anything is spent."""
    plan = plan_of(project, request.options)
    suite = plan.suite
    resolved = ResolvedRequest(plan, request)
    asked = resolved.asked
    name = check_run_name(request.run_name or asked.default_name)
    stored = StoredOptimisation(project / "runs" / name)
    looks = earlier_looks(looks_path(suite.folder), name if stored.exists else None, split_cases(asked.cases))
    refuse_second_look(looks, again=request.again)
    budget = _budget(request.limits)
    prepared = PreparedOptimisation(
        request=request,
        resolved=resolved,
        stored=stored,
        reflector=_reflector(suite, request.reflector, budget),
        judge=TrialJudge(
            judge=open_judge(project, suite, resolved.rubric, request.judge, budget), safety=declared_by(suite).safety
        ),
        budget=budget,
        looks=looks,
    )
    prepared.check()
    _refuse_unjudged(resolved.rubric, split_cases(asked.cases).held_out)
    stored.check(asked)
    return prepared


def _refuse_unjudged(rubric: Rubric, held_out: Sequence[str]) -> None:
    """Raises UsageError where the rubric can say nothing of any held-out case, so that none could confirm anything."""
    if not any(map(rubric.judges, held_out)):
        raise UsageError(
            f"the rubric {rubric.name!r} judges none of the {len(held_out)} held-out cases: it has checklists alone, "
            f"and none of these cases has one",
            remedy=f"a checklist for each of {', '.join(sorted(held_out))}, or a criterion of another kind",
        )


def _budget(limits: SearchBudget) -> Budget:
    """Of all requests of agents, judge and reflector; it ends the optimisation in the middle of a trial if need be."""
    return Budget(usd=limits.usd, tokens=limits.tokens, requests=limits.calls)


class _NoRollouts:
    """Stands for the rollouts while the request is checked, when none may be run."""

    def run(
        self, candidate: Candidate, cases: Sequence[str], *, component: str | None, sample: int = 0
    ) -> Sequence[Rollout]:
        """Never called."""
        raise AssertionError(f"{candidate.id} was run before the checks: {cases}, {component}, {sample}")


def said_in(case: Case, invocations: Sequence[AgentInvocation] = ()) -> tuple[str, ...]:
    """What no prompt may quote of a case: all that its user says, pursues and withholds, the answer that is expected,
    and in agent mode the requests that the component is measured by.
    """
    talk = case.conversation
    turns = () if talk is None else talk.turns
    whole = () if talk is None else (talk.opening, talk.plan)
    withheld = () if case.user is None else case.user.withhold
    said = (
        case.task,
        *whole,
        case.expected_output,
        *(one.say for one in turns),
        *withheld,
        *(one.given for one in invocations),
    )
    return tuple(one for one in said if isinstance(one, str))


def _reflector(suite: Suite, asked: JudgeSettings | Path, budget: Budget) -> Reflector:
    if isinstance(asked, Path):
        return RuleReflector(read_rule_book(asked))
    options = ModelClientOptions(mode="live", secrets=secrets_of(suite, asked), budget=budget)
    return ModelReflector(asker=ModelClient(asked.spec, asked.provider, options), model=asked.model)


def _look(name: str, request: OptimiseRequest, split: CaseSplit, again: bool) -> HeldOutUse:
    return HeldOutUse(
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        run=name,
        mode=request.mode,
        component=request.component,
        cases=tuple(sorted(split.held_out)),
        again=again,
    )
