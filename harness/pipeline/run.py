"""Runs a plan: restores, runs, traces, scores and stores every planned trial.

    plan -> world (images, snapshot) -> run folder -> per trial: session, sandbox, agent, evidence, scorecard, commit

A trial is on disk before the next one of its job slot starts; a plan with `resumes` continues that run.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from harness import __version__
from harness.case import tools_digest
from harness.errors import UsageError
from harness.pipeline.early_stop import EarlyStop, stop_rule
from harness.pipeline.execution.environment import Say, pins
from harness.pipeline.execution.executor import Executor, Job
from harness.pipeline.execution.executors import open_executor, runs_elsewhere
from harness.pipeline.execution.preflight import check_reachable, warn_of_shared_state
from harness.pipeline.execution.prepared import PreparedRun, prepare
from harness.pipeline.plan.plan import RunPlan
from harness.pipeline.plan.secrets import secret_values
from harness.pipeline.plan.users import users_for_manifest
from harness.pipeline.rescore import finish_scores
from harness.results import (
    PlannedTrial,
    RunFolder,
    RunManifest,
    Stop,
    VariedTrial,
    begin_run,
    default_run_name,
    keep_reference_states,
    stop_requested,
    stored_reference_states,
    withdraw_stop,
    write_allowance,
    write_stop,
)
from harness.runner import Agent
from harness.sandbox import isolates
from harness.score import Scorecard
from harness.trace import Trial
from harness.upstream import check_servers

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
    Raises UsageError where the suite is wrong, the run's name is taken, or a resumed run began with another agent,
    suite or snapshot, before anything is started.
    """
    prepared = prepare(plan)
    return _started(prepared, watch) if plan.resumes is None else _resumed(prepared, plan.resumes, watch)


def _started(prepared: PreparedRun, watch: Watch) -> RunFolder:
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
        if _order(plan, folder):
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
    missing = _order(plan, folder)
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


def _order(plan: RunPlan, folder: RunFolder) -> Sequence[PlannedTrial]:
    done = folder.finished()
    missing = [one for one in folder.manifest.planned if (one.case_id, one.attempt) not in done]
    if plan.shuffle is not None:
        random.Random(plan.shuffle).shuffle(missing)
    return missing


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
