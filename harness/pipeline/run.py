"""One run: restore, run, trace, score and store every planned trial.

    plan -> world (images, snapshot) -> run folder -> per trial: session, sandbox, agent, evidence, scorecard, commit

A trial is on disk before the next one of its job slot begins; a run that was stopped goes on with `resume_run`.
"""

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from harness import __version__
from harness.case import Case, Suite
from harness.case.browsing import needs_browser
from harness.cassette.live import FOLDER
from harness.errors import ResultsError, UsageError
from harness.frozen import digest_of
from harness.gateway.budget import OutOfBudget
from harness.gateway.gateway import Gateway
from harness.gateway.model.room import check_keys
from harness.pipeline.plan import RunPlan
from harness.pipeline.rescore import finish_scores
from harness.pipeline.secrets import secret_values
from harness.pipeline.world import Say, World, open_world, pins
from harness.results import PlannedTrial, RunFolder, RunManifest, default_run_name, write_stop
from harness.runner.agent import Agent
from harness.runner.agents import open_agent
from harness.runner.browsers import PICTURES, BrowserRoom
from harness.runner.pool import run_all
from harness.runner.trial import TrialRunner
from harness.sandbox.providers import open_provider
from harness.sandbox.recipe import BROWSER_IMAGE
from harness.score import Evidence, Scorecard, Scorer, build_scorer
from harness.trace import Trial

INFRASTRUCTURE_TRIES = 2
"""A trial that the harness could not do is tried once more; the first record is kept beside the second."""

Finished = Callable[[Trial, Scorecard], None]


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What somebody who looks on is told."""

    say: Say = field(default=lambda _: None)
    began: Callable[[RunManifest], None] = field(default=lambda _: None)
    finished: Finished = field(default=lambda _trial, _card: None)


def start_run(plan: RunPlan, watch: Watch) -> RunFolder:
    """Runs every planned trial into a new run folder and returns it, closed for writing.

    Raises UsageError where the suite is wrong or the run's name is taken, before anything is started.
    """
    scorer = build_scorer(plan.suite)
    _refuse_keyless(plan)
    agent = open_agent(plan.suite, plan.agent, plan.project / ".harness" / "agents")
    name = plan.name or _default_name(plan, agent)
    world = open_world(plan, name, watch.say)
    folder = RunFolder.create(plan.runs, _manifest(plan, name, agent, world, scorer))
    return _go(plan, folder, scorer, agent, world, watch)


def resume_run(plan: RunPlan, path: Path, watch: Watch) -> RunFolder:
    """Runs what is missing in the run folder `path`; a trial that finished is never run again.

    Raises UsageError where agent, suite or snapshot are no longer what the run began with.
    """
    scorer = build_scorer(plan.suite)
    _refuse_keyless(plan)
    agent = open_agent(plan.suite, plan.agent, plan.project / ".harness" / "agents")
    folder = RunFolder.resume(path)
    try:
        world = open_world(plan, folder.manifest.run, watch.say)
        _refuse_changed(folder.manifest, _manifest(plan, folder.manifest.run, agent, world, scorer))
    except BaseException:
        folder.close()
        raise
    return _go(plan, folder, scorer, agent, world, watch)


def _go(plan: RunPlan, folder: RunFolder, scorer: Scorer, agent: Agent, world: World, watch: Watch) -> RunFolder:
    secrets = secret_values(plan.suite)
    with ExitStack() as stack:
        stack.callback(folder.close)
        watch.began(folder.manifest)
        provider = open_provider(plan.sandbox, run=folder.manifest.run, prefetch=plan.prefetch)
        stack.callback(provider.close)
        gateway = stack.enter_context(
            Gateway(
                plan.suite,
                plan.tools,
                cassettes=plan.cassettes or plan.project / "cassettes",
                secrets=secrets,
                services=world.services,
                otlp_endpoint=plan.otlp_endpoint,
                refresh=plan.refresh,
                lenient=plan.replay == "lenient",
                live_tapes=folder.path / FOLDER,
                model_mode=plan.model,
                budget=plan.budget,
            )
        )
        runner = TrialRunner(
            suite=plan.suite,
            snapshot=world.snapshot,
            provider=provider,
            gateway=gateway,
            agent=agent,
            run=folder.manifest.run,
            images=world.images,
            browsers=_browsers(plan, world, folder, stack),
        )
        stopping = Event()

        def abort() -> None:
            stopping.set()
            provider.close()
            if runner.browsers is not None:
                runner.browsers.provider.close()

        attempt = Attempt(runner=runner, folder=folder, scorer=scorer, stopping=stopping)
        for _, done in run_all(_within_budget(plan, folder), attempt, plan.jobs, abort):
            if done is not None:
                watch.finished(*done)
        write_stop(folder, None if plan.budget is None else plan.budget.reached)
        finish_scores(folder, plan.suite, scorer)
    return RunFolder.open(folder.path)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Runs, scores and commits one planned trial."""

    runner: TrialRunner
    folder: RunFolder
    scorer: Scorer
    stopping: Event

    def __call__(self, planned: PlannedTrial) -> tuple[Trial, Scorecard] | None:
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
        with tempfile.TemporaryDirectory(prefix="harness-trial-") as temporary:
            archive = Path(temporary) / "end_state.tar"
            trial, spans = self.runner.run_trial(case, attempt, archive)
            if self.stopping.is_set():
                raise ResultsError("the run was stopped; this trial is not kept")
            kept = archive if archive.exists() else None
            pictures = tuple(sorted(archive.parent.glob(PICTURES)))
            evidence = Evidence(case=case, trial=trial, tools=self.runner.suite.tools, end_state_archive=kept)
            card = self.scorer.score(evidence)
            self.folder.commit(trial, spans, card, kept, *pictures)
        return trial, card


def case_of(suite: Suite, case_id: str) -> Case:
    """The case called `case_id`; raises UsageError where the suite has none."""
    for case in suite.cases:
        if case.id == case_id:
            return case
    raise UsageError(f"suite {suite.name!r} has no case {case_id!r}")


def _default_name(plan: RunPlan, agent: Agent) -> str:
    name = default_run_name(plan.created, plan.suite.name, agent.name)
    return name if plan.shard is None else "{}-shard-{}-of-{}".format(name, *plan.shard)


def _browsers(plan: RunPlan, world: World, folder: RunFolder, stack: ExitStack) -> BrowserRoom | None:
    """Browsers are ordinary containers, whichever way the agent's sandboxes are made."""
    if not needs_browser(plan.suite):
        return None
    provider = open_provider("docker", run=folder.manifest.run)
    stack.callback(provider.close)
    return BrowserRoom(provider=provider, image=world.images[BROWSER_IMAGE], snapshot=world.snapshot)


def _refuse_keyless(plan: RunPlan) -> None:
    """Raises UsageError where the model is to answer and its key is not in the environment."""
    if plan.model is not None and plan.suite.model is None:
        raise UsageError(
            f"--model {plan.model}: the suite {plan.suite.name!r} declares no model",
            remedy="declare one in suite.yaml: `model: {api_key: NAME_OF_A_VARIABLE}`",
        )
    if plan.suite.model is not None and plan.model_mode in ("live", "record"):
        check_keys(plan.suite.model, plan.model_mode, secret_values(plan.suite))


def _within_budget(plan: RunPlan, folder: RunFolder) -> Iterator[PlannedTrial]:
    """What is to be run, until the budget is spent."""
    for planned in _order(plan, folder):
        if plan.budget is not None and plan.budget.reached is not None:
            return
        yield planned


def _order(plan: RunPlan, folder: RunFolder) -> Sequence[PlannedTrial]:
    done = folder.finished()
    missing = [one for one in folder.manifest.planned if (one.case_id, one.attempt) not in done]
    if plan.shuffle is not None:
        random.Random(plan.shuffle).shuffle(missing)
    return missing


def _manifest(plan: RunPlan, name: str, agent: Agent, world: World, scorer: Scorer) -> RunManifest:
    suite = plan.suite
    return RunManifest(
        run=name,
        created=plan.created.isoformat(timespec="seconds"),
        harness_version=__version__,
        release=plan.release,
        suite=suite.name,
        suite_digest=suite.digest,
        agent=agent.name,
        agent_digest=agent.digest,
        prompt_digest=agent.prompt_digest,
        code_digest=agent.code_digest,
        snapshot=None if suite.snapshot is None else f"{suite.environment}/{suite.snapshot}",
        snapshot_digest=world.snapshot.digest,
        packages_digest=world.packages_digest,
        tools_digest=digest_of([tool.model_dump(mode="json") for tool in suite.tools]),
        tool_mode=plan.tools,
        model_mode=plan.model_mode or "none",
        replay=plan.replay,
        provider=plan.sandbox,
        isolates=plan.sandbox != "local",
        pins=pins(plan),
        scorer_versions=scorer.versions,
        planned=plan.own,
        shard=None if plan.shard is None else "{}/{}".format(*plan.shard),
    )


_MUST_AGREE = (
    "suite_digest",
    "agent_digest",
    "snapshot_digest",
    "tools_digest",
    "tool_mode",
    "model_mode",
    "replay",
    "scorer_versions",
)


def _refuse_changed(began: RunManifest, now: RunManifest) -> None:
    changed = [field for field in _MUST_AGREE if getattr(began, field) != getattr(now, field)]
    if changed:
        raise UsageError(
            f"run {began.run!r} cannot go on: since it began, {', '.join(changed)} changed",
            remedy="start a new run",
        )
