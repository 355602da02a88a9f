"""Turns options of a run into a plan: loads the suite, selects cases, and rejects invalid combinations."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

from harness.errors import UsageError
from harness.gateway.budgets import budget_of
from harness.processes import GIT, subprocess_environment
from harness.runs.plan.plan import RunOptions, RunPlan, Selection, planned_trials
from harness.runs.plan.users import refuse_cases_without_log, resumed_users, user_options
from harness.runs.plan.variables import chosen_values, varied, with_prompts
from harness.runs.store.folder import RunFolder, run_path
from harness.runs.store.manifest import RunManifest
from harness.runs.trial.parallel import jobs_held, trials_held
from harness.sandbox.environment import BASE_IMAGE, load_environment
from harness.sandbox.local import has_own_packages
from harness.sandbox.providers import provider_of
from harness.scoring.scorecard import floor_of
from harness.suite.loading import load_stored_suite, load_suite
from harness.suite.models import ModelMode, ToolMode
from harness.suite.suites import Gates, Suite


def release_of(project: Path) -> str | None:
    """`git describe` of the project, with `-dirty` for uncommitted changes; None if git has no commit."""
    command = ["git", "-C", str(project), "describe", "--tags", "--always", "--dirty"]
    try:
        done = subprocess.run(
            command, env=subprocess_environment(*GIT), capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def plan_of(project: Path, options: RunOptions) -> RunPlan:
    """The options as a plan. Raises UsageError for invalid options."""
    if options.resume is not None:
        _refuse_other_agent(options)
        return _plan_of_run(project, options, run_path(project, options.resume))
    if options.suite is None:
        return _plan_of_suite(project, options, _only_suite(project))
    return _plan_of_suite(project, options, options.suite)


def _only_suite(project: Path) -> str:
    """The name of the project's suite. Raises UsageError if there is none, or if there are several."""
    names = sorted(path.parent.name for path in project.glob("suites/*/suite.yaml"))
    if len(names) != 1:
        remedy = f"name one of them: {', '.join(names)}" if names else "harness init, or harness record -- PROGRAM ..."
        raise UsageError(f"the project has {len(names)} suites, and none is named", remedy=remedy)
    return names[0]


def _refuse_other_agent(options: RunOptions) -> None:
    for option, given in (
        ("--with", options.variables),
        ("--prompt", options.prompts),
    ):
        if given:
            raise UsageError(
                f"{option} applies only to new runs; a resumed run keeps its settings",
                remedy=f"omit {option}, or start a new run",
            )


def _plan_of_suite(project: Path, options: RunOptions, name: str) -> RunPlan:
    if options.refresh and "record" not in (options.tools, options.model):
        raise UsageError("--refresh needs --live tools,record, model,record or all,record")
    suite = load_suite(project, name)
    suite = varied(suite, options.agent, chosen_values(suite, options.agent, options.variables))
    suite = with_prompts(project, suite, options.agent, options.prompts)
    selection = Selection(
        cases=options.cases,
        only=options.only,
        failed_in=None if options.failed_in is None else run_path(project, options.failed_in),
    )
    planned = planned_trials(suite, selection, options.trials)
    gates, users = _gates(suite, options), user_options(project, suite, options)
    refuse_cases_without_log(suite, users, planned)
    return RunPlan(
        project=project,
        suite=suite,
        planned=planned,
        agent=options.agent,
        tools=options.tools,
        model=options.model,
        budget=budget_of(options.budget, callable_names(suite)),
        users=users,
        sandbox=options.sandbox or ("local" if takes_own_packages(suite) else "docker"),
        executor=options.executor,
        jobs_per_node=options.jobs,
        name=options.run_name,
        release=options.release or release_of(project),
        shard=options.shard,
        **_side_by_side(suite, options),
        gates=gates,
        refresh=options.refresh,
        otlp_endpoint=_collector(options),
    )


def callable_names(suite: Suite) -> tuple[str, ...]:
    """The names of what a budget can limit the calls of: tools, and hosts."""
    return (*(tool.name for tool in suite.tools), *(host.tool for host in suite.hosts))


def takes_own_packages(suite: Suite) -> bool:
    """Whether the suite is of a command that was found in the active virtual environment, without an image for it: its
    files are the project's.
    """
    agent = suite.agents.get(suite.default_agent)
    if agent is None or agent.image or suite.environment is None or not (agent.files or "").startswith(".."):
        return False
    is_plain = load_environment(suite.folder.parents[1], suite.environment).image == BASE_IMAGE
    return is_plain and has_own_packages(agent.command, os.environ)


def _gates(suite: Suite, options: RunOptions) -> Gates:
    """Those of the suite, with those of the command line in their place."""
    typed: dict[str, float] = {}
    for metric, least in map(floor_of, options.floors):
        typed[metric] = max(least, typed.get(metric, least))
    margins = {figure.strip(): margin for figure, _, margin in (spec.partition("=") for spec in options.no_worse_than)}
    own = suite.gates
    return Gates(
        fail_under=own.fail_under | typed,
        no_worse_than=own.no_worse_than | margins,
        against_baseline=options.against_baseline or own.against_baseline,
        allow_unmeasured=own.allow_unmeasured if options.allow_unmeasured is None else options.allow_unmeasured,
        max_inconclusive=own.max_inconclusive if options.max_inconclusive is None else options.max_inconclusive,
    )


def _collector(options: RunOptions) -> str | None:
    """The URL that spans are sent to. Raises UsageError for an invalid one before anything runs."""
    if options.otlp is None:
        return None
    from harness.traces.exporting import Collector, otlp_endpoint

    endpoint = otlp_endpoint(options.otlp)
    Collector(endpoint).close()
    return endpoint


class Parallelism(TypedDict):
    """The number of parallel trials of the plan."""

    jobs: int
    most: int


def _side_by_side(suite: Suite, options: RunOptions) -> Parallelism:
    """The number of parallel trials including waiting ones; an explicit --jobs limits those too."""
    limits = [case.limits for case in suite.cases]
    jobs = options.jobs or jobs_held(limits)
    most = jobs if options.jobs else trials_held(limits)
    return Parallelism(jobs=jobs, most=most)


def _plan_of_run(project: Path, options: RunOptions, path: Path) -> RunPlan:
    manifest = RunFolder.open(path).manifest
    with _naming(path / "manifest.json"):
        suite = varied(load_stored_suite(project, manifest.suite, path), manifest.agent, manifest.variables)
        suite = with_prompts(project, suite, manifest.agent, tuple(manifest.prompts.values()))
        tools, model = _tool_mode(manifest), _model_mode(manifest)
        sandbox = provider_of(manifest.provider, options.sandbox or "docker")
    return RunPlan(
        project=project,
        suite=suite,
        planned=manifest.planned,
        agent=manifest.agent,
        tools=tools,
        model=model,
        budget=budget_of(options.budget, callable_names(suite)),
        users=resumed_users(project, suite, manifest),
        sandbox=sandbox,
        executor=options.executor,
        jobs_per_node=options.jobs,
        name=manifest.run,
        resumes=path,
        variants={(one.case_id, one.attempt): one.variant for one in manifest.variants},
        release=manifest.release,
        **_side_by_side(suite, options),
        gates=manifest.gates,
        otlp_endpoint=_collector(options),
    )


@contextmanager
def _naming(manifest: Path) -> Iterator[None]:
    """Adds the file to a UsageError about a value of the manifest."""
    try:
        yield
    except UsageError as error:
        if str(manifest.parent) in error.message:
            raise
        raise UsageError(f"{manifest}: {error.message}", remedy=error.remedy) from None


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
