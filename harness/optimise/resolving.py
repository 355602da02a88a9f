"""The request of an optimisation, resolved against its suite before anything is spent."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Event

from harness.case import Suite
from harness.errors import UsageError
from harness.judge import JudgeSettings, PromptRegistry, Rubric, judge_settings, load_rubric
from harness.optimise.candidates.candidate import candidate_of
from harness.optimise.candidates.components import (
    Component,
    agent_of,
    components_of,
    declared_by,
    refuse_versions,
    texts_of,
)
from harness.optimise.demanding import demand_of
from harness.optimise.outcome import Mode
from harness.optimise.rollouts.invocation_trials import micro_rubric, open_invocation_trials
from harness.optimise.rollouts.invocations import AgentInvocation, invocations_by_case
from harness.optimise.rollouts.mean_use import MeanUse, mean_use
from harness.optimise.rollouts.rollout import Rollouts
from harness.optimise.rollouts.spending import SearchBudget
from harness.optimise.rollouts.trial_verdict import TrialJudge, TrialVerdict
from harness.optimise.rollouts.whole_trials import live, open_whole_trials, rollout_of
from harness.optimise.searching.rule_reflector import read_rule_book
from harness.optimise.searching.splitting import split_cases
from harness.optimise.settings import OptimisationSettings
from harness.optimise.sizing import RolloutDemand, minibatch_of
from harness.optimise.stored import AskedOptimisation
from harness.pipeline import RunOptions, RunPlan, users_for_manifest
from harness.results import RunFolder, run_path
from harness.runner import open_agent
from harness.sandbox import temporary_folder
from harness.trace import Usage
from harness.upstream import Budget
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
    rubric: str | None = None
    """None: the suite's section `optimise` names it."""
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
        self.invocations = self._cut() if request.mode == "agent" else {}
        self.rubric = self._rubric(suite)

    @cached_property
    def demand(self) -> RolloutDemand:
        """What is known to be needed before anything is run."""
        return demand_of(self.plan.suite, self.components, self.texts, self._request.reflector, self._request.mode)

    @cached_property
    def known_use(self) -> MeanUse:
        """What a trial, or in agent mode an invocation, took in the run that is named; its trials are read once."""
        component = self._request.component
        return _known_use(self.plan, self._request.trace, None if component is None else (component, self.invocations))

    @property
    def settings(self) -> OptimisationSettings:
        """With the minibatch, where none was asked for."""
        asked = self._request.settings
        if asked.minibatch is not None:
            return asked
        split = split_cases(self._cases)
        return replace(asked, minibatch=minibatch_of(asked.rollouts, split, self.demand.revisions))

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
            reflector=_named(request.reflector),
            rollouts=settings.rollouts,
            minibatch=settings.minibatch or 0,
            noise_samples=settings.noise_samples,
            seed=settings.seed,
            max_cost_increase=settings.rules.max_cost_increase,
            cases=self._cases,
            invocations=digest_of(_plain(self.invocations)) if self.invocations else None,
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
        name = self._request.rubric or declared_by(suite).rubric
        if name is None:
            raise UsageError("no rubric scores the trials", remedy="--rubric NAME, or `optimise.rubric` in suite.yaml")
        rubric = load_rubric(name, suite.folder)
        return rubric if self._request.component is None else micro_rubric(rubric, self._request.component)

    def _judge(self) -> str | None:
        if all(one.kind == "code" for one in self.rubric.criteria):
            return None
        plan = self.plan
        settings = judge_settings(plan.project, plan.suite.folder, self._request.judge, options=None)
        prompt = PromptRegistry(plan.project).get(self.rubric.prompt, settings.label)
        return f"{_named(settings)}, {digest_of([prompt.digest, settings.sampling.model_dump(mode='json')])[:12]}"

    def _cut(self) -> Mapping[str, Sequence[AgentInvocation]]:
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
    """The run of that name; raises UsageError where it is one of another suite."""
    folder = RunFolder.open(run_path(plan.project, name))
    if folder.manifest.suite != plan.suite.name:
        raise UsageError(
            f"the run {name!r} is of the suite {folder.manifest.suite!r}, and {plan.suite.name!r} is to be optimised",
            remedy=f"--from a run of {plan.suite.name!r}; `harness runs` lists them",
        )
    return folder


def _known_use(plan: RunPlan, trace: str | None, invocations: tuple[str, Collection[str]] | None = None) -> MeanUse:
    """Means over the trials of the run; all None without one, and where a trial tells nothing of it.

    `invocations`: the name of an agent and the cases in which it was asked something; then means over these cases, of
    the replies of its own steps.
    """
    if trace is None:
        return MeanUse()
    if invocations is not None:
        return _use_of_agent(plan, trace, *invocations)
    trials = [stored.trial for stored in traced_run(plan, trace).trials()]
    nothing = TrialVerdict(domains={}, vetoes=(), feedback="")
    rollouts = [rollout_of(one.case_id, candidate_of({}), [one], nothing) for one in trials if one.model_use]
    return mean_use(rollouts) if len(rollouts) == len(trials) else MeanUse()


def acting(plan: RunPlan, trace: str) -> set[str]:
    """The agents that act in the run."""
    trials = (stored.trial for stored in traced_run(plan, trace).trials())
    return {step.agent for trial in trials for step in trial.trajectory.steps if step.agent is not None}


def _use_of_agent(plan: RunPlan, trace: str, agent: str, cases: Collection[str]) -> MeanUse:
    found: dict[str, list[Usage]] = {}
    for trial in (stored.trial for stored in traced_run(plan, trace).trials()):
        if trial.case_id in cases and trial.case_id not in found:
            own = [one for one in trial.trajectory.steps if one.agent == agent and one.source == "agent"]
            found[trial.case_id] = [one.usage or Usage() for one in own]
    used = [one for steps in found.values() for one in steps]
    tokens = [
        one.input_tokens + one.output_tokens
        for one in used
        if one.input_tokens is not None and one.output_tokens is not None
    ]
    costs = [one.cost_usd for one in used if one.cost_usd is not None]
    if not used or plan.suite.model is None:
        return MeanUse()
    return MeanUse(
        usd=sum(costs) / len(found) if len(costs) == len(used) else None,
        tokens=sum(tokens) / len(found) if len(tokens) == len(used) else None,
        calls=len(used) / len(found),
    )


def _named(reflector: JudgeSettings | Path) -> str:
    if isinstance(reflector, Path):
        return f"rules:{digest_of(read_rule_book(reflector))[:12]}"
    return f"{reflector.model} at {reflector.base_url or reflector.provider}"


def _plain(invocations: Mapping[str, Sequence[AgentInvocation]]) -> dict[str, list[object]]:
    return {case: [one.model_dump(mode="json") for one in found] for case, found in invocations.items()}
