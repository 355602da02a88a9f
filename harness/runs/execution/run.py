"""Runs a plan: restores, runs, traces, scores and stores every planned trial."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from harness import __version__
from harness.errors import UsageError
from harness.gateway.upstream.tool_servers import check_servers, filled
from harness.runs.execution.environment import Needs, Say, needs_of, open_world, pins, refuse_unmet
from harness.runs.execution.executor import Executor, Job
from harness.runs.execution.executors import open_executor, runs_elsewhere
from harness.runs.execution.preflight import check_reachable, live_servers, started_servers, warn_of_shared_state
from harness.runs.execution.reference_states import compared_cases, refuse_stateless, with_reference_states
from harness.runs.plan.plan import RunPlan, secret_values
from harness.runs.plan.users import users_for_manifest
from harness.runs.store.beside_trials import (
    Stop,
    keep_reference_states,
    stop_requested,
    stored_reference_states,
    withdraw_stop,
    write_stop,
)
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest, VariedTrial, begin_run, default_run_name
from harness.runs.trial.agents import Agent, open_agent
from harness.runs.trial.end_state import PICTURES
from harness.sandbox.providers import isolates
from harness.scoring.evidence import Evidence, ReferenceState
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import Scorer, build_scorer
from harness.suite.digests import tools_digest
from harness.suite.suites import case_of
from harness.traces.outcomes import Cause
from harness.traces.trial import Outage, Trial

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
    with started_servers(plan.suite, live_servers(plan), watch.say):
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
    keep_reference_states(folder, job.scorer.reference_states)
    watch.began(folder.manifest)
    with closing(executor.run(_while_it_can(plan, folder, outages), folder)) as results:
        for ended in results:
            if ended is not None:
                outages.note(ended[0])
                watch.finished(*ended)
    spent = None if plan.budget is None else plan.budget.reached
    for trial in outages.brought_about():
        _store_again(job, folder, trial)
    complete = len(folder.finished()) == len(folder.manifest.planned)
    cut_short = (
        outages.words or outages.reached or spent or (_BY_A_PERSON if stop_requested(folder) and not complete else None)
    )
    write_stop(folder, None if cut_short is None else Stop(reason=cut_short))
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
    if plan.tools in ("live", "record") and (agent := plan.suite.agents.get(plan.agent or plan.suite.default_agent)):
        filled("the agent", "env", agent.env, plan.suite.secrets, secret_values(plan.suite))
    warn_of_shared_state(plan, say)
    check_reachable(plan, secret_values(plan.suite))


_TRIALS_BEFORE_STOPPING = 2
_BY_A_PERSON = "a person asked for it"


class _Outages:
    """Ends a run whose trials cannot be measured, because a server that they need has never answered."""

    def __init__(self) -> None:
        self._never_answered: Counter[str] = Counter()
        self._doubtful: list[tuple[Trial, Outage]] = []
        self._asked = 0
        self._answered: Counter[str] = Counter()
        self._last: Outage | None = None

    @property
    def reached(self) -> str | None:
        """Why the run starts no further trial; None while it continues."""
        last = self._last
        if last is None or self._never_answered[last.server] < _TRIALS_BEFORE_STOPPING:
            return None
        return self.words or f"{last.server!r} answered no trial: {last.reason}"

    @property
    def words(self) -> str | None:
        """That no model request of the run was answered; None: one was, or none failed."""
        if self._last is None or not self._asked or self._answered.total():
            return None
        return f"0 of {self._asked} model requests were answered: {self._last.reason}"

    def note(self, trial: Trial) -> None:
        for name, (asked, answered) in trial.model_requests.items():
            self._asked += asked
            self._answered[name] += answered
        outage = trial.outage
        if outage is None or trial.outcome != "harness_failed":
            return
        if outage.model is not None:
            self._doubtful.append((trial, outage))
        if not outage.answered:
            self._last = outage
            self._never_answered[outage.server] += 1

    def brought_about(self) -> Iterator[Trial]:
        """Trials of which the rest of the run shows that the agent itself asked for what nobody answers: the provider
        has answered others, and refused this trial everything, or never answered for this model.
        """
        for trial, outage in self._doubtful:
            server = f"{outage.server}/"
            others = any(count for name, count in self._answered.items() if name.startswith(server))
            if others and (outage.refused or not self._answered[f"{server}{outage.model}"]):
                why = {"outcome": "agent_failed", "cause": Cause.CRASH, "reason": f"its model: {outage.reason}"}
                yield trial.model_copy(update=why)


def _store_again(job: Job, folder: RunFolder, trial: Trial) -> None:
    """With another outcome; the first record stays beside it."""
    stored = folder.stored(trial.case_id, trial.attempt)
    assert stored is not None  # this run has committed it
    case = case_of(job.plan.suite, trial.case_id)
    evidence = Evidence(case=case, trial=trial, tools=job.plan.suite.tools, end_state_archive=stored.end_state)
    pictures = sorted(stored.folder.glob(PICTURES))
    folder.commit(trial, stored.spans, job.scorer.score(evidence), stored.end_state, *pictures)


def _while_it_can(plan: RunPlan, folder: RunFolder, outages: _Outages) -> Iterator[PlannedTrial]:
    """What is to be run, until the budget is spent, or a server turns out to be down."""
    for planned in _missing(folder):
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
        provider=plan.sandbox,
        isolates=isolates(plan.sandbox),
        pins=pins(plan),
        gates=plan.gates,
        scorer_versions=job.scorer.versions,
        planned=plan.own,
        selected=len({one.case_id for one in plan.planned}) < len(suite.cases),
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
