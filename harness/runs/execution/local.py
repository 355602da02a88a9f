"""Runs the trials on this machine: opens shared resources once, then runs trials in parallel."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from harness.cassettes.journals import FOLDER
from harness.cassettes.profiles import learned_volatile
from harness.gateway.budgets import RateLimiter
from harness.gateway.gateway import Gateway
from harness.runs.execution.environment import RunSetup, Say
from harness.runs.execution.executor import Attempt, Ended, Job
from harness.runs.plan.plan import RunPlan, secret_values
from harness.runs.store.beside_trials import shown_in_flight
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial
from harness.runs.trial.end_state import BrowserFactory
from harness.runs.trial.parallel import TaskSlots, run_all
from harness.runs.trial.trial import TrialRunner
from harness.sandbox.images.recipe import BROWSER_IMAGE
from harness.sandbox.providers import open_provider
from harness.suite.checks import needs_browser
from harness.traces import names
from harness.traces.tracer import Tracing
from harness.users.users import users_of

if TYPE_CHECKING:
    from harness.traces.exporting import ExportReport


@contextmanager
def open_tracing(
    job: Job, report: Callable[["ExportReport"], object], headers: Mapping[str, str] | None = None
) -> Iterator[Tracing | None]:
    """Yields None if spans are only stored. Otherwise `report` receives the result of the export when the run has
    ended.

    `headers` are sent with every request, instead of those of the environment. Raises UsageError.
    """
    endpoint = job.plan.otlp_endpoint
    if endpoint is None:
        yield None
        return
    from harness.traces.exporting import LiveExport

    export = LiveExport(endpoint, headers)
    try:
        yield Tracing(_resource(job), [export.processor])
    finally:
        report(export.close())


def _resource(job: Job) -> dict[str, str]:
    plan = job.plan
    attributes = {names.RUN: job.run, names.SUITE: plan.suite.name, names.RELEASE: plan.release}
    return {name: value for name, value in attributes.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class LocalExecutor:
    """Runs trials in threads of this process; implements `Executor`."""

    job: Job
    say: Say

    def run(self, tasks: Iterable[PlannedTrial], folder: RunFolder) -> Generator[Ended, None, None]:
        """The first exception ends all trials, and what they started."""
        job, stopping = self.job, Event()
        secrets = secret_values(job.plan.suite)
        live = folder.path / FOLDER
        with ExitStack() as stack:
            tracing = stack.enter_context(open_tracing(job, lambda report: self.say(report.words)))
            shared = open_runner(job, live_cassettes=live, secrets=secrets, limiter=RateLimiter(), tracing=tracing)
            runner = stack.enter_context(shared)

            def abort() -> None:
                stopping.set()
                end_sandboxes(runner)

            stack.enter_context(shown_in_flight(folder.path, runner.gateway.in_flight))
            attempt = Attempt(runner=runner, folder=folder, scorer=job.scorer, stopping=stopping)
            waiting = runner.gateway.waiting
            room = TaskSlots(jobs=job.plan.jobs, most=job.plan.most, waiting=lambda: waiting.trials)
            with closing(run_all(tasks, attempt, room, abort)) as results:
                for _, ended in results:
                    yield ended


@contextmanager
def open_local(job: Job, say: Say) -> Iterator[LocalExecutor]:
    """The executor of this machine; what it needs is opened when its first trial is."""
    yield LocalExecutor(job=job, say=say)


@contextmanager
def open_runner(
    job: Job, *, live_cassettes: Path | None, secrets: Mapping[str, str], limiter: RateLimiter, tracing: Tracing | None
) -> Iterator[TrialRunner]:
    """Opens the runner of the job's trials on one machine: its provider, its gateway, its browsers.

    Raises EngineUnavailable, and UsageError if the suite needs a part of the gateway that this machine lacks.
    """
    plan, world, run = job.plan, job.world, job.run
    cassettes = plan.cassettes or plan.project / "cassettes"
    with ExitStack() as stack:
        provider = open_provider(plan.sandbox, run=run)
        stack.callback(provider.close)
        gateway = stack.enter_context(
            Gateway(
                plan.suite,
                plan.tools,
                cassettes=cassettes,
                secrets=secrets,
                services=world.services,
                tracing=tracing,
                refresh=plan.refresh,
                volatile=_volatile(plan, cassettes),
                live_cassettes=live_cassettes,
                model_mode=plan.model,
                budget=plan.budget,
                limiter=limiter,
                users=users_of(plan.suite, plan.users, cassettes=cassettes, secrets=secrets),
            )
        )
        yield TrialRunner(
            suite=plan.suite,
            snapshot=world.snapshot,
            provider=provider,
            gateway=gateway,
            agent=job.agent,
            run=run,
            images=world.images,
            browsers=_browsers(plan, world, run, stack),
            variants=plan.variants,
            tasks=world.tasks,
            snapshots=world.snapshots,
        )


def _volatile(plan: RunPlan, cassettes: Path) -> Mapping[str, Sequence[str]]:
    """The learned profiles of volatile values, if answers are recorded."""
    if plan.tools != "record":
        return {}
    return learned_volatile(cassettes, plan.suite.name, [tool.name for tool in plan.suite.tools])


def end_sandboxes(runner: TrialRunner) -> None:
    """Ends every sandbox and browser of the runner, so that the trials in them end at once."""
    runner.provider.close()
    if runner.browsers is not None:
        runner.browsers.provider.close()


def _browsers(plan: RunPlan, world: RunSetup, run: str, stack: ExitStack) -> BrowserFactory | None:
    """The provider of browsers, which are ordinary containers for every sandbox provider."""
    if not needs_browser(plan.suite):
        return None
    provider = open_provider("docker", run=run)
    stack.callback(provider.close)
    return BrowserFactory(provider=provider, image=world.images[BROWSER_IMAGE])
