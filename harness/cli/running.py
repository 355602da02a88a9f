"""Carries out `harness run` and its kin: plan, run with a progress bar, print, and choose the exit status."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypedDict

from harness.case import ModelMode, Suite, load_stored_suite, load_suite
from harness.cli.baselines import check_baseline, hold
from harness.cli.console import out, print_json, progress_bar, say
from harness.cli.options import run_path
from harness.cli.release import release_of
from harness.cli.showing import show_comparison, show_divergences, show_gate, show_summary
from harness.errors import ExitCode, UsageError
from harness.gateway import ToolMode, budget_of
from harness.pipeline import ExecutorName, RunPlan, Selection, Watch, divergences, planned_trials, resume_run, start_run
from harness.report import (
    Summary,
    check_floors,
    compare_runs,
    crash_words,
    gate,
    model_words,
    summarise_run,
    write_report,
)
from harness.results import RunFolder, RunManifest, latest_comparable
from harness.runner import jobs_held, trials_held
from harness.sandbox import ProviderName, isolates, provider_of
from harness.score import Scorecard
from harness.trace import Trial


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of one run, as typed."""

    suite: str | None
    agent: str | None = None
    tools: ToolMode = "replay"
    model: ModelMode | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_calls: tuple[str, ...] = ()
    sandbox: ProviderName = "docker"
    executor: ExecutorName = "local"
    ray_address: str = "auto"
    cases: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    difficulties: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    failed_in: str | None = None
    trials: int = 1
    check_determinism: bool = False
    run_name: str | None = None
    release: str | None = None
    resume: str | None = None
    jobs: int | None = None
    """None: what this machine holds."""
    prefetch: int | None = None
    shard: tuple[int, int] | None = None
    shuffle: int | None = None
    replay: Literal["strict", "lenient"] = "strict"
    refresh: bool = False
    floors: tuple[str, ...] = ()
    against_baseline: bool = False
    allow_unmeasured: int | None = None
    """None: as the suite's gates say."""
    max_inconclusive: int | None = None
    """None: likewise."""
    otlp: str | None = None
    as_json: bool = False


def carry_out(project: Path, options: RunOptions) -> ExitCode:
    """Runs, prints, and says how the process should end."""
    plan, resumed = _planned(project, options)
    options = _with_gates(options, plan.suite)
    if options.against_baseline:
        check_baseline(project, plan.suite)  # before anything is spent
    folder = _made(project, options, plan, resumed)
    summary = summarise_run(folder)
    report = write_report(folder, summary, options.max_inconclusive or 0)
    if options.as_json:
        print_json(summary.model_dump(mode="json"))
    else:
        show_summary(out(), summary, report)
        if not options.against_baseline:
            _show_difference(folder)
    held = _held(project, folder, options) if options.against_baseline else ExitCode.DONE
    return max(judge(folder, summary, options), held)


def _held(project: Path, folder: RunFolder, options: RunOptions) -> ExitCode:
    allowed = max(options.allow_unmeasured or 0, options.max_inconclusive or 0)
    return hold(project, folder, allow_unmeasured=allowed, quiet=options.as_json)


def run(project: Path, options: RunOptions) -> RunFolder:
    """The run folder, after every planned trial was made; the suite's gates are not asked."""
    plan, resumed = _planned(project, options)
    return _made(project, options, plan, resumed)


def _planned(project: Path, options: RunOptions) -> tuple[RunPlan, Path | None]:
    """What is to be run, and the run folder to go on with; None: a new one."""
    if options.resume is not None:
        resumed = run_path(project, options.resume)
        return _plan_of_run(project, options, resumed), resumed
    if options.suite is None:
        raise UsageError("name a suite, or a run to go on with: --resume RUN")
    return plan_of(project, options), None


def _made(project: Path, options: RunOptions, plan: RunPlan, resumed: Path | None) -> RunFolder:
    check_floors(plan.suite, options.floors)  # before anything is spent
    with _watched(project, options, len(plan.own)) as watch:
        return start_run(plan, watch) if resumed is None else resume_run(plan, resumed, watch)


def _with_gates(options: RunOptions, suite: Suite) -> RunOptions:
    """The options, and the suite's gates where no option takes their place."""
    gates = suite.gates
    typed = {floor.partition("=")[0].strip() for floor in options.floors}
    own = (f"{figure}={least!r}" for figure, least in gates.fail_under.items() if figure not in typed)
    return replace(
        options,
        floors=(*options.floors, *own),
        against_baseline=options.against_baseline or gates.against_baseline,
        allow_unmeasured=gates.allow_unmeasured if options.allow_unmeasured is None else options.allow_unmeasured,
        max_inconclusive=gates.max_inconclusive if options.max_inconclusive is None else options.max_inconclusive,
    )


def plan_of(project: Path, options: RunOptions) -> RunPlan:
    """The options as a plan; raises UsageError for what cannot be."""
    if options.refresh and "record" not in (options.tools, options.model):
        raise UsageError("--refresh replaces recordings, which only --tools record and --model record make")
    if options.replay == "lenient" and options.tools != "replay":
        raise UsageError("--replay lenient is about recordings, which only --tools replay plays")
    suite = load_suite(project, str(options.suite))
    selection = Selection(
        cases=options.cases,
        categories=options.categories,
        difficulties=options.difficulties,
        tags=options.tags,
        failed_in=None if options.failed_in is None else run_path(project, options.failed_in),
    )
    if options.check_determinism:
        _refuse_undetermined(suite, options)
    return RunPlan(
        project=project,
        suite=suite,
        planned=planned_trials(suite, selection, options.trials),
        agent=options.agent,
        tools=options.tools,
        model=options.model,
        budget=budget_of(options.budget_usd, options.budget_tokens, options.budget_calls),
        sandbox=options.sandbox,
        executor=options.executor,
        ray_address=options.ray_address,
        jobs_per_node=options.jobs,
        name=options.run_name,
        release=options.release or release_of(project),
        shard=options.shard,
        **_side_by_side(suite, options),
        shuffle=options.shuffle,
        replay=options.replay,
        refresh=options.refresh,
        otlp_endpoint=_collector(options),
    )


def _collector(options: RunOptions) -> str | None:
    """Where spans are sent while trials run; what cannot be is refused before anything runs."""
    if options.otlp is None:
        return None
    from harness.trace import Collector, otlp_endpoint

    endpoint = otlp_endpoint(options.otlp)
    Collector(endpoint).close()
    return endpoint


class SideBySide(TypedDict):
    """How many at a time, as a plan has it."""

    jobs: int
    most: int
    prefetch: int


def _side_by_side(suite: Suite, options: RunOptions) -> SideBySide:
    """A number that was typed holds for trials that wait too."""
    limits = [case.limits for case in suite.cases]
    jobs = options.jobs or jobs_held(limits)
    most = jobs if options.jobs else trials_held(limits)
    # Where every processor runs a trial already, starting further ones gains nothing.
    ahead = 2 if jobs == 1 else 0
    return SideBySide(jobs=jobs, most=most, prefetch=ahead if options.prefetch is None else options.prefetch)


def _refuse_undetermined(suite: Suite, options: RunOptions) -> None:
    """A model that answers by itself answers differently; what it did is no finding about the harness."""
    if suite.model is None:
        return
    mode = options.model or suite.model.mode
    if mode != "replay" or options.tools not in ("replay", "sealed"):
        raise UsageError(
            f"--check-determinism needs replayed answers; this run has tools {options.tools} and model {mode}",
            remedy="use --model replay with --tools replay",
        )


def judge(folder: RunFolder, summary: Summary, options: RunOptions) -> ExitCode:
    """The exit status: gates first, then determinism and misses; what nothing measured is never a pass."""
    console = out(quiet=options.as_json)
    codes = [ExitCode.DONE]
    if options.floors:
        result = gate(summary, options.floors, options.allow_unmeasured or 0)
        show_gate(console, result)
        codes.append(result.exit_code)
    if options.check_determinism:
        found = divergences(stored.trial for stored in folder.trials())
        show_divergences(console, found, summary)
        codes.append(ExitCode.VERDICT if found else ExitCode.DONE)
        codes.append(ExitCode.DONE if summary.counts.measured else ExitCode.COULD_NOT)
    if summary.crashed:
        for line in crash_words(summary):
            say(line)
        codes.append(ExitCode.VERDICT)
    if summary.counts.inconclusive > (options.max_inconclusive or 0):
        manifest = summary.manifest
        say(f"record what is missing: harness record {manifest.suite} --agent {manifest.agent}")
        codes.append(ExitCode.VERDICT)
    if summary.counts.harness_failed or summary.counts.not_run:
        codes.append(ExitCode.COULD_NOT)
    return max(codes)


def _plan_of_run(project: Path, options: RunOptions, path: Path) -> RunPlan:
    manifest = RunFolder.open(path).manifest
    suite = load_stored_suite(project, manifest.suite)
    return RunPlan(
        project=project,
        suite=suite,
        planned=manifest.planned,
        agent=manifest.agent,
        tools=_tool_mode(manifest),
        model=_model_mode(manifest),
        budget=budget_of(options.budget_usd, options.budget_tokens, options.budget_calls),
        replay="lenient" if manifest.replay == "lenient" else "strict",
        sandbox=provider_of(manifest.provider, options.sandbox),
        executor=options.executor,
        ray_address=options.ray_address,
        jobs_per_node=options.jobs,
        name=manifest.run,
        release=manifest.release,
        **_side_by_side(suite, options),
        shuffle=options.shuffle,
        otlp_endpoint=_collector(options),
    )


def _tool_mode(manifest: RunManifest) -> ToolMode:
    match manifest.tool_mode:
        case "replay" | "record" | "live" | "sealed" as mode:
            return mode
        case other:
            raise UsageError(f"run {manifest.run!r} has the tool mode {other!r}, which this version does not know")


def _model_mode(manifest: RunManifest) -> ModelMode | None:
    match manifest.model_mode:
        case "replay" | "record" | "live" as mode:
            return mode
        case "none":
            return None
        case other:
            raise UsageError(f"run {manifest.run!r} has the model mode {other!r}, which this version does not know")


@contextmanager
def _watched(project: Path, options: RunOptions, total: int) -> Iterator[Watch]:
    if not isolates(options.sandbox):
        say(f"sandbox `{options.sandbox}`: the agent is NOT isolated from this machine")
    started: list[str] = []
    with _resumable(project, started), progress_bar(str(options.suite or options.resume), total) as bar:

        def began(manifest: RunManifest) -> None:
            started.append(manifest.run)
            bar.console.print(
                f"run {manifest.run}: {manifest.suite} {manifest.agent}, tools {manifest.tool_mode}, "
                f"{model_words(manifest)}, "
                f"sandbox {manifest.provider}, {len(manifest.planned)} trials"
            )

        def finished(trial: Trial, card: Scorecard) -> None:
            mark = {True: "passed", False: "failed", None: trial.outcome}[card.success]
            bar.update(bar.task_ids[0], advance=1, note=f"{trial.case_id} {mark}")

        yield Watch(say=bar.console.print, began=began, finished=finished)


@contextmanager
def _resumable(project: Path, started: Sequence[str]) -> Iterator[None]:
    """Says how a run that is stopped by Ctrl-C goes on."""
    try:
        yield
    except KeyboardInterrupt:
        place = "" if project == Path.cwd() else f"--project {shlex.quote(str(project))} "
        for run in started:
            say(f"stopped; what ran is kept. Go on with: harness {place}run --resume {shlex.quote(run)}")
        raise


def _show_difference(folder: RunFolder) -> None:
    earlier = latest_comparable(folder.path.parent, folder.manifest, same_agent=True)
    if earlier is not None:
        show_comparison(out(), compare_runs(earlier, folder))
