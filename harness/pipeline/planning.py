"""Options of a run as a plan: the suite loaded, its cases selected, and what cannot be refused."""

from pathlib import Path
from typing import TypedDict

from harness.case import ModelMode, Suite, ToolMode, load_stored_suite, load_suite
from harness.errors import UsageError
from harness.pipeline.plan import Early, RunPlan, Selection, planned_trials
from harness.pipeline.release import release_of
from harness.pipeline.run_options import RunOptions
from harness.pipeline.users import refuse_cases_without_log, resumed_users, user_options
from harness.report import SUCCESS, success_floor
from harness.results import RunFolder, RunManifest, run_path
from harness.runner import jobs_held, trials_held
from harness.sandbox import provider_of
from harness.upstream import budget_of


def plan_of(project: Path, options: RunOptions) -> RunPlan:
    """The options as a plan; raises UsageError for what cannot be."""
    if options.resume is not None:
        return _plan_of_run(project, options, run_path(project, options.resume))
    if options.suite is None:
        raise UsageError("name a suite, or a run to go on with: --resume RUN")
    return _plan_of_suite(project, options, options.suite)


def _plan_of_suite(project: Path, options: RunOptions, name: str) -> RunPlan:
    if options.refresh and "record" not in (options.tools, options.model):
        raise UsageError("--refresh replaces recordings, which only --tools record and --model record make")
    if options.replay == "lenient" and options.tools != "replay":
        raise UsageError("--replay lenient is about recordings, which only --tools replay plays")
    suite = load_suite(project, name)
    selection = Selection(
        cases=options.cases,
        categories=options.categories,
        difficulties=options.difficulties,
        tags=options.tags,
        failed_in=None if options.failed_in is None else run_path(project, options.failed_in),
    )
    if options.check_determinism:
        _refuse_undetermined(suite, options)
    planned, users = planned_trials(suite, selection, options.trials), user_options(project, suite, options)
    refuse_cases_without_log(suite, users, planned)
    return RunPlan(
        project=project,
        suite=suite,
        planned=planned,
        agent=options.agent,
        tools=options.tools,
        model=options.model,
        budget=budget_of(options.budget_usd, options.budget_tokens, options.budget_calls),
        users=users,
        sandbox=options.sandbox,
        executor=options.executor,
        ray_address=options.ray_address,
        jobs_per_node=options.jobs,
        name=options.run_name,
        release=options.release or release_of(project),
        shard=options.shard,
        **_side_by_side(suite, options),
        shuffle=options.shuffle,
        max_inconclusive=_max_inconclusive(suite, options),
        replay=options.replay,
        refresh=options.refresh,
        otlp_endpoint=_collector(options),
        early=_early(suite, options),
    )


def _early(suite: Suite, options: RunOptions) -> Early | None:
    if not options.stop_early:
        return None
    if options.shard is not None:
        raise UsageError(
            "--stop-early needs the whole run: a shard sees only its own cases", remedy="leave one of the two out"
        )
    typed = success_floor(options.floors)
    return Early(floor=suite.gates.fail_under.get(SUCCESS) if typed is None else typed)


def _max_inconclusive(suite: Suite, options: RunOptions) -> int:
    return suite.gates.max_inconclusive if options.max_inconclusive is None else options.max_inconclusive


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
    """Rejects a live model: its answers vary, so that its failures would not be findings about the harness."""
    if suite.model is None:
        return
    mode = options.model or suite.model.mode
    if mode != "replay" or options.tools not in ("replay", "sealed"):
        raise UsageError(
            f"--check-determinism needs replayed answers; this run has tools {options.tools} and model {mode}",
            remedy="use --model replay with --tools replay",
        )


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
        users=resumed_users(project, suite, manifest),
        replay="lenient" if manifest.replay == "lenient" else "strict",
        sandbox=provider_of(manifest.provider, options.sandbox),
        executor=options.executor,
        ray_address=options.ray_address,
        jobs_per_node=options.jobs,
        name=manifest.run,
        resumes=path,
        variants={(one.case_id, one.attempt): one.variant for one in manifest.variants},
        release=manifest.release,
        **_side_by_side(suite, options),
        shuffle=options.shuffle,
        max_inconclusive=_max_inconclusive(suite, options),
        otlp_endpoint=_collector(options),
        early=_early(suite, options),
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
