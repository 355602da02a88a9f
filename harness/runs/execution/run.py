"""Runs a plan: restores, runs, traces, scores and stores every planned trial."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from harness import __version__
from harness.errors import UsageError
from harness.gateway.upstream.tool_servers import check_servers
from harness.runs.execution.early_stop import EarlyStop, stop_rule
from harness.runs.execution.environment import Needs, Say, needs_of, open_world, pins, refuse_unmet
from harness.runs.execution.executor import Executor, Job
from harness.runs.execution.executors import open_executor, runs_elsewhere
from harness.runs.execution.preflight import check_reachable, warn_of_shared_state
from harness.runs.execution.reference_states import compared_cases, refuse_stateless, with_reference_states
from harness.runs.plan.plan import RunPlan, secret_values
from harness.runs.plan.users import users_for_manifest
from harness.runs.rescore import finish_scores
from harness.runs.store.beside_trials import (
    Stop,
    keep_reference_states,
    stop_requested,
    stored_reference_states,
    withdraw_stop,
    write_allowance,
    write_stop,
)
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest, VariedTrial, begin_run, default_run_name
from harness.runs.trial.agents import Agent, open_agent
from harness.sandbox.providers import isolates
from harness.scoring.evidence import ReferenceState
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import Scorer, build_scorer
from harness.suite.digests import tools_digest
from harness.traces.trial import Trial

# A checked plan whose environment is not open yet.


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A plan with a checked suite, agent and needs."""

    plan: RunPlan
    needs: Needs
    agent: Agent
    scorer: Scorer

    def job(self, name: str, say: Say, stored: Mapping[str, ReferenceState] | None = None) -> Job:
        """The job of a run of that name, with its world open and its reference states, of which `stored` is known.

        Raises what `open_world` raises, and ReferenceFailed if the reference of a case fails.
        """
        world = open_world(self.needs, name, say)
        job = Job(plan=self.plan, run=name, world=world, agent=self.agent, scorer=self.scorer)
        return with_reference_states(job, self.needs, say, stored or {})


def prepare(plan: RunPlan) -> PreparedRun:
    """Checks a plan without starting anything. Raises UsageError for an invalid suite or agent, or an unmet need."""
    scorer, needs = build_scorer(plan.suite), needs_of(plan)
    refuse_unmet(needs)
    refuse_stateless(plan, compared_cases(plan, scorer))
    try:
        agent = open_agent(plan.suite, plan.agent, plan.project / ".harness" / "agents")
    except UsageError as error:
        if plan.resumes is None:
            raise
        raise UsageError(f"{plan.resumes}: {error.message}", remedy=error.remedy) from None  # its manifest names it
    return PreparedRun(plan=plan, needs=needs, agent=agent, scorer=scorer)


# Runs a plan: restores, runs, traces, scores and stores every planned trial.
#
#     plan -> world (images, snapshot) -> run folder -> per trial: session, sandbox, agent, evidence, scorecard,
#     commit
#
# A trial is on disk before the next one of its job slot starts; a plan with `resumes` continues that run.

Finished = Callable[[Trial, Scorecard], None]


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Callbacks that report the progress of a run to an observer."""

    say: Say = field(default=lambda _: None)
    began: Callable[[RunManifest], None] = field(default=lambda _: None)
    finished: Finished = field(default=lambda _trial, _card: None)


def run_plan(plan: RunPlan, watch: Watch) -> RunFolder:
    """Runs every planned trial and returns the run folder, closed for writing.

    A plan that resumes a run makes the trials that are missing in its folder; one that finished is never run again.
    Raises UsageError if the suite is wrong, the run's name is taken, or a resumed run began with another agent,
    suite or snapshot, before anything is started.
    """
    prepared = prepare(plan)
    return _begin_folder(prepared, watch) if plan.resumes is None else _resumed(prepared, plan.resumes, watch)


def _begin_folder(prepared: PreparedRun, watch: Watch) -> RunFolder:
    plan = prepared.plan
    _check_live(plan, watch.say)

    def begin(name: str) -> RunFolder:
        job = prepared.job(name, watch.say)
        with open_executor(job, watch.say) as executor, RunFolder.create(plan.runs, manifest_of(job)) as folder:
            return _carried_out(job, folder, executor, watch)

    return begin_run(plan.runs, plan.name, _default_name(plan, prepared.agent), begin)


def _resumed(prepared: PreparedRun, path: Path, watch: Watch) -> RunFolder:
    plan = prepared.plan
    with RunFolder.resume(path) as folder:
        job = prepared.job(folder.manifest.run, watch.say, stored_reference_states(path, plan.suite))
        _refuse_changed(folder, manifest_of(job))
        if _missing(folder):
            _check_live(plan, watch.say)
        with open_executor(job, watch.say) as executor:
            return _carried_out(job, folder, executor, watch)


def _carried_out(job: Job, folder: RunFolder, executor: Executor, watch: Watch) -> RunFolder:
    plan, outages = job.plan, _Outages()
    withdraw_stop(folder)
    rule = stop_rule(plan, folder)
    keep_reference_states(folder, job.scorer.reference_states)
    write_allowance(folder, plan.max_inconclusive)
    watch.began(folder.manifest)
    with closing(executor.run(_while_it_can(plan, folder, outages, rule), folder)) as results:
        for ended in results:
            if ended is not None:
                outages.note(ended[0])
                if rule is not None:
                    rule.note(ended[1])
                watch.finished(*ended)
    spent = None if plan.budget is None else plan.budget.reached
    complete = len(folder.finished()) == len(folder.manifest.planned)
    cut_short = outages.reached or spent or (_BY_A_PERSON if stop_requested(folder) and not complete else None)
    decided = None if rule is None or complete else rule.reached
    write_stop(folder, decided if cut_short is None else Stop(reason=cut_short))
    finish_scores(folder, plan.suite, job.scorer)
    folder.close()
    return RunFolder.open(folder.path)


def _default_name(plan: RunPlan, agent: Agent) -> str:
    name = default_run_name(plan.created, plan.suite.name, agent.name)
    return name if plan.shard is None else "{}-shard-{}-of-{}".format(name, *plan.shard)


def _check_live(plan: RunPlan, say: Say) -> None:
    """Raises UsageError or ServiceError if live answers need a key or server that is missing, or may not be written to.

    It comes before the run folder is made, so that a refused run leaves none behind.
    """
    if not runs_elsewhere(plan.executor):  # the programs of a server stand on the nodes
        check_servers(plan.suite, plan.tools, secret_values(plan.suite))
    warn_of_shared_state(plan, say)
    check_reachable(plan, secret_values(plan.suite))


_TRIALS_BEFORE_STOPPING = 2
_BY_A_PERSON = "a person asked for it"


class _Outages:
    """Ends a run whose trials cannot be measured, because a server that they need has never answered."""

    def __init__(self) -> None:
        self._never_answered: Counter[str] = Counter()
        self.reached: str | None = None
        """Why the run starts no further trial; None while it continues."""

    def note(self, trial: Trial) -> None:
        if trial.outage is None or trial.outage.answered:
            return
        server = trial.outage.server
        self._never_answered[server] += 1
        if self._never_answered[server] == _TRIALS_BEFORE_STOPPING:
            self.reached = f"{server!r} answered no trial: {trial.outage.reason}"


def _while_it_can(
    plan: RunPlan, folder: RunFolder, outages: _Outages, rule: EarlyStop | None
) -> Iterator[PlannedTrial]:
    """What is to be run, until the budget is spent, a server turns out to be down, or the result is sure enough."""
    missing = _missing(folder)
    for planned in missing if rule is None else rule.order(missing):
        if rule is not None and rule.reached is not None:
            return
        if (
            stop_requested(folder)
            or outages.reached is not None
            or (plan.budget is not None and plan.budget.reached is not None)
        ):
            return
        yield planned


def _missing(folder: RunFolder) -> list[PlannedTrial]:
    done = folder.finished()
    return [one for one in folder.manifest.planned if (one.case_id, one.attempt) not in done]


def manifest_of(job: Job) -> RunManifest:
    """The manifest of a run that begins with this job."""
    plan, suite, agent, world = job.plan, job.plan.suite, job.agent, job.world
    return RunManifest(
        run=job.run,
        created=plan.created.isoformat(timespec="seconds"),
        harness_version=__version__,
        release=plan.release,
        suite=suite.name,
        suite_digest=suite.digest,
        agent=agent.name,
        agent_digest=agent.digest,
        variables=suite.variables_of(agent.name),
        prompts={one.file: one.identity for one in suite.agent_prompts if one.agent == agent.name},
        prompt_digest=agent.prompt_digest,
        code_digest=agent.code_digest,
        snapshot=None if suite.snapshot is None else f"{suite.environment}/{suite.snapshot}",
        snapshot_digest=world.snapshot_digest,
        packages_digest=world.packages_digest,
        tools_digest=tools_digest(suite),
        tool_mode=plan.tools,
        model_mode=plan.model_mode or "none",
        users=users_for_manifest(plan.suite, plan.users),
        replay=plan.replay,
        provider=plan.sandbox,
        isolates=isolates(plan.sandbox),
        pins=pins(plan, world),
        scorer_versions=job.scorer.versions,
        planned=plan.own,
        variants=tuple(
            VariedTrial(case_id=case_id, attempt=attempt, variant=variant)
            for (case_id, attempt), variant in plan.variants.items()
        ),
        shard=None if plan.shard is None else "{}/{}".format(*plan.shard),
    )


_MUST_AGREE = (
    "suite_digest",
    "agent_digest",
    "snapshot_digest",
    "tools_digest",
    "tool_mode",
    "model_mode",
    "users",
    "replay",
    "scorer_versions",
)


def _refuse_changed(folder: RunFolder, now: RunManifest) -> None:
    began = folder.manifest
    changed = [field for field in _MUST_AGREE if getattr(began, field) != getattr(now, field)]
    if changed:
        raise UsageError(
            f"{folder.path}: the run cannot be resumed: since it began, {', '.join(changed)} changed",
            remedy="start a new run",
        )
