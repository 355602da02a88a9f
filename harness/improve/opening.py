"""An optimisation of a suite, from what was typed to its outcome in a run folder."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Event

from harness.errors import UsageError
from harness.gateway.budgets import Budget
from harness.improve.candidates import (
    Component,
    agent_of,
    candidate_of,
    components_of,
    declared_by,
    refuse_versions,
    texts_of,
)
from harness.improve.held_out import (
    CaseSplit,
    HeldOutUse,
    earlier_looks,
    looks_path,
    record_look,
    refuse_second_look,
    split_cases,
)
from harness.improve.invocations import AgentInvocation, invocations_by_case, micro_rubric, open_invocation_trials
from harness.improve.lineage import WeightedObjective
from harness.improve.optimisation import Optimisation
from harness.improve.outcome import AskedOptimisation, Mode, OptimisationOutcome, StoredOptimisation
from harness.improve.reflector import RuleReflector, read_rule_book
from harness.improve.rollouts import CostEstimate, Rollouts, SearchBudget, SpendingMeter, Use, mean_use
from harness.improve.search import optimisers_of
from harness.improve.sizing import OptimisationSettings, RolloutDemand, demand_of, minibatch_of
from harness.improve.trial_verdict import TrialJudge, TrialVerdict, open_judge
from harness.improve.whole_trials import live, open_whole_trials, rollout_of
from harness.judging.calibration_questions import ModelReflector, Reflector
from harness.judging.certification import uncertified
from harness.judging.judge import Judge
from harness.judging.prompts import PromptRegistry
from harness.judging.rubrics import Rubric, load_rubric
from harness.judging.settings import JudgeSettings, judge_settings
from harness.runs.judging import secrets_of
from harness.runs.plan.plan import RunOptions, RunPlan
from harness.runs.plan.planning import plan_of
from harness.runs.plan.users import users_for_manifest
from harness.runs.store.folder import RunFolder, run_path
from harness.runs.store.manifest import check_run_name
from harness.runs.store.storage import WriterLock
from harness.runs.trial.agents import open_agent
from harness.sandbox.ownership import temporary_folder
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.trajectory import Usage
from harness.values import digest_of

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class OptimiseRequest:
    """What is to be optimised, and by what."""

    options: RunOptions
    """How trials are run: suite, sandbox, tools, users, jobs."""
    mode: Mode
    component: str | None = None
    """In agent mode: the component whose texts are revised."""
    rubric: str
    """Scores the trials."""
    reflector: JudgeSettings | Path
    """A model, or a file of rules."""
    judge: Mapping[str, object] = field(default_factory=dict)
    """Settings of the judge's model over those of `judge.yaml`."""
    optimiser: str = "gepa"
    settings: OptimisationSettings = field(default_factory=OptimisationSettings)
    limits: SearchBudget = field(default_factory=SearchBudget)
    trace: str | None = None
    """A run: agent mode cuts its invocations out of it, and the estimate takes its costs."""
    again: bool = False
    """Look at held-out cases that another optimisation examined."""
    no_safety: bool = False
    """Begin though no criterion of the rubric can veto a candidate."""
    run_name: str | None = None


class ResolvedRequest:
    """The request, resolved against the suite."""

    def __init__(self, plan: RunPlan, request: OptimiseRequest) -> None:
        if (request.mode == "agent") != (request.component is not None):
            problem = "names no component" if request.component is None else "revises all components"
            raise UsageError(
                f"--mode {request.mode} {problem}", remedy="--mode agent --component NAME, or --mode joint"
            )
        suite = plan.suite
        self.plan, self._request = plan, request
        refuse_versions(suite, components_of(suite))
        self.components: tuple[Component, ...] = components_of(suite, request.component)
        self.texts = texts_of(suite, components_of(suite))
        self.invocations = self._limited_invocations() if request.mode == "agent" else {}
        self.rubric = self._rubric(suite)

    @cached_property
    def demand(self) -> RolloutDemand:
        """What is known to be needed before anything is run."""
        return demand_of(self.plan.suite, self.components, self.texts, self._request.reflector, self._request.mode)

    @cached_property
    def known_use(self) -> Use:
        """What a trial, or in agent mode an invocation, took in the run that is named; its trials are read once."""
        return _known_use(self.plan, self._request.trace, self._request.component, self.invocations)

    @property
    def settings(self) -> OptimisationSettings:
        """With the minibatch, if none was asked for."""
        asked, split = self._request.settings, split_cases(self._cases)
        wanted = asked.minibatch or minibatch_of(asked.rollouts, split, self.demand.revisions)
        return replace(asked, minibatch=wanted)

    @property
    def _cases(self) -> tuple[str, ...]:
        return tuple(self.invocations) or tuple(dict.fromkeys(one.case_id for one in self.plan.planned))

    @property
    def asked(self) -> AskedOptimisation:
        """What a run folder is begun with."""
        suite, request, settings = self.plan.suite, self._request, self.settings
        version, _ = agent_of(suite)
        start = candidate_of(self.texts)
        with temporary_folder() as staging:
            frozen = open_agent(suite, version, staging, dict.fromkeys(start.files, "")).digest
        return AskedOptimisation(
            suite=suite.name,
            suite_digest=suite.digest,
            agent=version,
            agent_digest=frozen,
            start=start.id,
            mode=request.mode,
            component=request.component,
            components=self.components,
            rubric=self.rubric.name,
            rubric_digest=self.rubric.digest,
            optimiser=request.optimiser,
            reflector=_reflector_text(request.reflector),
            rollouts=settings.rollouts,
            minibatch=settings.minibatch or 0,
            noise_samples=settings.noise_samples,
            seed=settings.seed,
            max_cost_increase=settings.rules.max_cost_increase,
            cases=self._cases,
            checks=declared_by(suite).checks,
            invocations=digest_of(_invocations_as_json(self.invocations)) if self.invocations else None,
            tools=live(self.plan).tools,
            users=users_for_manifest(suite, live(self.plan).users) if request.mode == "joint" else None,
            judge=self._judge(),
        )

    @contextmanager
    def rollouts(self, judge: TrialJudge, budget: Budget, say: Say, stopping: Event) -> Iterator[Rollouts]:
        """Whole trials, or the component's invocations; what they ask counts against the budget."""
        plan, component = replace(self.plan, budget=budget), self._request.component
        if component is None:
            with open_whole_trials(plan, judge, say, stopping) as whole:
                yield whole
        else:
            with open_invocation_trials(plan, judge, component, self.invocations, say, stopping) as cut:
                yield cut

    def _rubric(self, suite: Suite) -> Rubric:
        rubric = load_rubric(self._request.rubric, suite.folder)
        return rubric if self._request.component is None else micro_rubric(rubric, self._request.component)

    def _judge(self) -> str | None:
        if all(one.kind == "code" for one in self.rubric.criteria):
            return None
        plan = self.plan
        settings = judge_settings(plan.project, plan.suite.folder, self._request.judge, options=None)
        prompt = PromptRegistry(plan.project).get(self.rubric.prompt, settings.label)
        return (
            f"{_reflector_text(settings)}, {digest_of([prompt.digest, settings.sampling.model_dump(mode='json')])[:12]}"
        )

    def _limited_invocations(self) -> Mapping[str, Sequence[AgentInvocation]]:
        component, trace = self._request.component, self._request.trace
        assert component is not None  # checked above
        if trace is None:
            raise UsageError(
                "agent mode replays what the component was asked in a run, and none is named",
                remedy="--from RUN, a run of the same suite whose spans name the agents",
            )
        folder = traced_run(self.plan, trace)
        planned = {one.case_id for one in self.plan.planned}
        trials = (stored.trial for stored in folder.trials() if stored.trial.case_id in planned)
        found = invocations_by_case(trials, component, self.plan.suite.tools)
        if not found:
            raise UsageError(
                f"no trial of {trace!r} in the cases asked for shows an invocation of {component!r}",
                remedy="run a suite whose agent reports spans with `gen_ai.agent.name`",
            )
        return found


def traced_run(plan: RunPlan, name: str) -> RunFolder:
    """The run of that name; raises UsageError if it is one of another suite."""
    folder = RunFolder.open(run_path(plan.project, name))
    if folder.manifest.suite != plan.suite.name:
        raise UsageError(
            f"the run {name!r} is of the suite {folder.manifest.suite!r}, and {plan.suite.name!r} is to be optimised",
            remedy=f"--from a run of {plan.suite.name!r}; `harness runs` lists them",
        )
    return folder


def _known_use(plan: RunPlan, trace: str | None, agent: str | None, cases: Collection[str]) -> Use:
    """Means over the trials of the run; unknown without one, or if a trial tells nothing of it. `agent`: means over
    the `cases` in which this agent was asked something, of the replies of its own steps.
    """
    trials = [] if trace is None else [stored.trial for stored in traced_run(plan, trace).trials()]
    if agent is None:
        nothing = TrialVerdict(domains={}, vetoes=(), feedback="")
        rollouts = [rollout_of(one.case_id, candidate_of({}), [one], nothing) for one in trials if one.model_use]
        return mean_use(rollouts) if len(rollouts) == len(trials) else Use()
    first = {one.case_id: one.trajectory.steps for one in reversed(trials) if one.case_id in cases}
    used = [
        [one.usage or Usage() for one in steps if one.agent == agent and one.source == "agent"]
        for steps in first.values()
    ]
    if plan.suite.model is None or not any(used):
        return Use()
    return Use(
        usd=_mean_sum([[one.cost_usd for one in own] for own in used]),
        tokens=_mean_sum([[one.input_tokens for one in own] + [one.output_tokens for one in own] for own in used]),
        calls=sum(map(len, used)) / len(used),
    )


def _mean_sum(values: Sequence[Sequence[float | None]]) -> float | None:
    """The mean of the sums; None if a value is not known."""
    known = [value for some in values for value in some if value is not None]
    return sum(known) / len(values) if len(known) == sum(map(len, values)) else None


def _reflector_text(reflector: JudgeSettings | Path) -> str:
    if isinstance(reflector, Path):
        return f"rules:{digest_of(read_rule_book(reflector))[:12]}"
    return f"{reflector.model} at {reflector.base_url or reflector.provider}"


def _invocations_as_json(invocations: Mapping[str, Sequence[AgentInvocation]]) -> dict[str, list[object]]:
    return {case: [one.model_dump(mode="json") for one in found] for case, found in invocations.items()}


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
        return self._optimisation(None, SpendingMeter()).estimate()

    def check(self) -> None:
        """Raises UsageError for what could not be determined, with the figure that would do."""
        self._optimisation(None, SpendingMeter(limits=self.request.limits)).check()

    def run(self, say: Say = lambda _: None, stopping: Event | None = None) -> OptimisationOutcome:
        """Runs or continues it, and writes its outcome.

        If `stopping` is set, the trials that run are finished and kept, and KeyboardInterrupt is raised. Raises
        OutOfBudget, UsageError (for a judge that is not certified, too), and as trials do.
        """
        plan, judge = self.resolved.plan, self.judge.judge
        if judge is not None:
            _refuse_uncertified(plan.project, plan.suite.name, judge)
        stopping = stopping or Event()
        meter = SpendingMeter(limits=self.request.limits, budget=self.budget, stopping=stopping)
        self.stored.begin(self.resolved.asked)
        lock = WriterLock(self.stored.folder)
        try:
            asking = SpendingMeter(limits=self.request.limits, budget=self.budget, stopping=stopping)
            self._optimisation(None, asking).probe()
            with self.resolved.rollouts(self.judge, self.budget, say, stopping) as rollouts:
                outcome = self._optimisation(rollouts, meter).run(say)
            self.stored.finish(outcome)
        finally:
            lock.close()
        return outcome

    def _optimisation(self, rollouts: Rollouts | None, meter: SpendingMeter) -> Optimisation:
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
            objective=WeightedObjective(
                weights=resolved.rubric.weights, checks=declared_by(suite).checks, safety=resolved.rubric.safety
            ),
            rollouts=rollouts,
            reflector=self.reflector,
            optimisers=optimisers_of(request.optimiser),
            settings=resolved.settings,
            meter=meter,
            folder=self.stored.folder,
            known_use=resolved.known_use,
            demand=resolved.demand,
            looks_before=len(self.looks),
            about_to_look=lambda held: record_look(looks_path(suite.folder), _held_out_use(name, request, held, again)),
        )


def prepare_optimisation(project: Path, request: OptimiseRequest) -> PreparedOptimisation:
    """Raises UsageError for what cannot be determined, before anything is spent."""
    plan = plan_of(project, request.options)
    suite = plan.suite
    resolved = ResolvedRequest(plan, request)
    if not request.no_safety:
        _refuse_unguarded(resolved.rubric)
    asked = resolved.asked
    name = check_run_name(request.run_name or asked.default_name)
    stored = StoredOptimisation(project / "runs" / name)
    looks = earlier_looks(looks_path(suite.folder), name if stored.exists else None, split_cases(asked.cases))
    refuse_second_look(looks, again=request.again)
    limits = request.limits
    budget = Budget(usd=limits.usd, tokens=limits.tokens, requests=limits.calls)
    prepared = PreparedOptimisation(
        request=request,
        resolved=resolved,
        stored=stored,
        reflector=_reflector(suite, request.reflector, budget),
        judge=TrialJudge(judge=open_judge(project, suite, resolved.rubric, request.judge, budget)),
        budget=budget,
        looks=looks,
    )
    prepared.check()
    _refuse_unjudged(resolved.rubric, split_cases(asked.cases).held_out)
    stored.check(asked)
    return prepared


def _refuse_unguarded(rubric: Rubric) -> None:
    """Raises UsageError if no criterion can veto a candidate: forbidden calls alone would."""
    if not any(one.critical or one.safety for one in rubric.criteria):
        raise UsageError(
            f"no criterion of the rubric {rubric.name!r} that judges here is critical or declares `safety: true`, so "
            "that a candidate could gain its score at the cost of safety",
            remedy="declare `safety: true` at the criteria in which nothing may be lost, or give --no-safety",
        )


def _refuse_uncertified(project: Path, suite: str, judge: Judge) -> None:
    """Raises UsageError with the labels that are missing: a judge without a certificate confirms no candidate, as it
    decides no gate.
    """
    missing = uncertified(project, suite, judge.rubric, judge.identity)
    if missing:
        raise UsageError(
            f"the judge {judge.settings.model!r} with the prompt {judge.prompt.name}@{judge.prompt.version} cannot "
            f"confirm a candidate by the rubric {judge.rubric.name!r}: "
            + "; ".join(f"{name}: {reason}" for name, reason in missing.items()),
            remedy="label a run and certify the judge on it, harness annotate RUN and harness judge agreement RUN "
            "--certify; or let code decide these criteria",
        )


def _refuse_unjudged(rubric: Rubric, held_out: Sequence[str]) -> None:
    """Raises UsageError if the rubric can say nothing of any held-out case, so that none could confirm anything."""
    if not any(map(rubric.judges, held_out)):
        raise UsageError(
            f"the rubric {rubric.name!r} judges none of the {len(held_out)} held-out cases: it has checklists alone, "
            f"and none of these cases has one",
            remedy=f"a checklist for each of {', '.join(sorted(held_out))}, or a criterion of another kind",
        )


def said_in(case: Case, invocations: Sequence[AgentInvocation] = ()) -> tuple[str, ...]:
    """What no prompt may quote of a case: all that its user says, pursues and withholds, the answer that is expected,
    and in agent mode the requests that the component is measured by.
    """
    talk = case.conversation
    turns = () if talk is None else talk.turns
    plan = None if talk is None else talk.plan
    withheld = () if case.user is None else case.user.withhold
    said = (
        case.task,
        plan,
        case.expected_output,
        *(one.say for one in turns),
        *withheld,
        *(one.given for one in invocations),
    )
    return tuple(one for one in said if isinstance(one, str))


def _reflector(suite: Suite, asked: JudgeSettings | Path, budget: Budget) -> Reflector:
    if isinstance(asked, Path):
        return RuleReflector(read_rule_book(asked))
    return ModelReflector.of(asked, secrets_of(suite, asked), budget)


def _held_out_use(name: str, request: OptimiseRequest, split: CaseSplit, again: bool) -> HeldOutUse:
    return HeldOutUse(
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        run=name,
        mode=request.mode,
        component=request.component,
        cases=tuple(sorted(split.held_out)),
        again=again,
    )
