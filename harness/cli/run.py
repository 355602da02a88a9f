"""`harness run`: runs a suite."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.console import out, print_json, say
from harness.cli.options import (
    TOOL_MODES,
    PluginType,
    ShardType,
    agent_options,
    executors,
    jobs_option,
    model_options,
    run_name,
    sandbox_option,
    selection_options,
)
from harness.cli.report import matrix_and_runs, show_matrix
from harness.cli.running import gated, run_and_report, warn_of_no_isolation, watched, with_checked_gates
from harness.errors import ExitCode, HarnessError, UsageError
from harness.reports.matrix import matrix_table
from harness.reports.render.markdown import write_report
from harness.runs.execution.matrix import BegunMatrix, begin_matrix, is_matrix, resume_matrix
from harness.runs.execution.run import run_plan
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.runs.watching import WatchedSuite, affected_cases, different, watch_of, watched_suite

if TYPE_CHECKING:
    from harness.improve.faults import CampaignReport


@click.command("run")
@click.argument("suite", required=False)
@click.option(
    "--agent",
    metavar="NAME",
    help="Version of the suite's agent, or `oracle` (plays the reference) or `nop` (does nothing).",
)
@agent_options
@click.option("--tools", type=click.Choice(TOOL_MODES), default="replay", show_default=True, help="Who answers.")
@model_options
@sandbox_option
@selection_options
@click.option(
    "--trials",
    "--repeat",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Attempts per case.",
)
@click.option(
    "--against",
    metavar="RUN",
    help="Run that --no-worse-than compares with, instead of the baseline.",
)
@click.option(
    "--stop-early",
    is_flag=True,
    help="Stop once the confidence sequence of the success rate excludes the gate's value; without a gate: once its"
    " bounds"
    " differ by 0.1.",
)
@click.option(
    "--check-determinism",
    is_flag=True,
    help="Exit 1 if two attempts at a case differ, and print the first differing step.",
)
@click.option(
    "--run-name", callback=run_name, metavar="NAME", help="Name of the run folder; a name that exists is refused."
)
@click.option("--release", metavar="TEXT", help="Name of the agent's release; default: the tag or commit in git.")
@click.option("--resume", metavar="RUN", help="Resume a stopped run.")
@jobs_option
@click.option(
    "--executor",
    type=PluginType("executor", executors),
    default="local",
    show_default=True,
    help="`local`: on this machine. `ray`: on all nodes of a Ray cluster, --jobs trials in parallel on each"
    " (default: its"
    " processors). NAME: an installed executor.",
)
@click.option("--ray-address", default="auto", show_default=True, metavar="HOST:PORT", help="Address of the cluster.")
@click.option(
    "--prefetch",
    type=click.IntRange(0, 16),
    show_default="2 with --jobs 1, else 0; 0 for task folders",
    help="Number of containers that are started in advance (sandbox `docker`).",
)
@click.option(
    "--shard", type=ShardType(), metavar="I/N", help="Run only part I of N; `harness merge` merges the parts."
)
@click.option(
    "--shuffle",
    type=int,
    metavar="SEED",
    help="Start the trials in random order; the order of results does not change.",
)
@click.option(
    "--replay",
    type=click.Choice(["strict", "lenient"]),
    default="strict",
    show_default=True,
    help="`lenient`: answer a replay miss from the nearest earlier state, which may be wrong; such answers are"
    " counted.",
)
@click.option("--refresh", is_flag=True, help="With --tools record: replace recordings whose answer has changed.")
@click.option(
    "--fail-under",
    "floors",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Gate: exit 1 if METRIC is below VALUE (repeatable).",
)
@click.option(
    "--no-worse-than",
    multiple=True,
    metavar="METRIC=MARGIN",
    help="Gate: exit 1 if METRIC is worse than in the baseline, or in --against RUN, by more than MARGIN, 3 if that"
    " cannot be determined; for amounts also a percentage, as in cost_usd=10% (repeatable).",
)
@click.option("--against-baseline", is_flag=True, help="Gate: exit 1 if the run is worse than baselines/SUITE.json.")
@click.option(
    "--allow-unmeasured",
    type=click.IntRange(0),
    show_default="0",
    help="Maximum number of trials that a gate may leave unmeasured.",
)
@click.option(
    "--max-inconclusive",
    type=click.IntRange(0),
    show_default="0",
    help="Maximum number of trials with a replay miss; with more, the exit status is 1.",
)
@click.option(
    "--otlp",
    metavar="URL",
    help="Also send spans to this OTLP/HTTP collector during trials; `env`: the one in OTEL_EXPORTER_OTLP_ENDPOINT.",
)
@click.option(
    "--faults",
    type=click.Choice(["all"]),
    help="`all`: inject every error of every tool at every step of the passing cases, and remove every field of its"
    " answers,"
    " one fault per trial.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="After the run, run affected cases again whenever a file of the agent, its prompts or the suite changes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def command(ctx: click.Context, /, faults: str | None, watch: bool, **typed: object) -> None:
    """Run every case of SUITE in a sandbox that is restored from its snapshot, and score the trials.

    \b
    harness run drive_thru
    harness run drive_thru --agent v1 --category modifiers --trials 4
    harness run path/to/harbor_tasks --agent oracle
    harness run grocery --agent shopper --with model=gpt-5,gpt-5-mini --model live
    harness run grocery --agent shopper --prompt-label candidate
    harness run drive_thru --tools sealed --fail-under task_success=0.9
    harness run drive_thru --repeat 3 --check-determinism
    harness run grocery --trials 8 --stop-early --fail-under task_success=0.8
    harness run drive_thru --against-baseline
    harness run drive_thru --no-worse-than task_success=0.05 --no-worse-than cost_usd=10%
    harness run drive_thru --shard 2/4
    harness run drive_thru --executor ray --ray-address auto
    harness run drive_thru --otlp http://127.0.0.1:4318
    harness run drive_thru --faults all --sandbox docker-warm
    harness run drive_thru --category modifiers --watch
    harness run --resume 20260131-235959-drive_thru-v2
    """
    from harness.cli.running import run_and_report
    from harness.runs.execution.matrix import is_matrix
    from harness.runs.plan.plan import RunOptions

    options = RunOptions.model_validate(typed)
    if watch:
        ctx.exit(watch_and_report(ctx.obj, options, faults=faults is not None))
    if faults is not None:
        own_tools = ctx.get_parameter_source("tools") is not click.core.ParameterSource.COMMANDLINE
        ctx.exit(carry_out_campaign(ctx.obj, options, own_tools=own_tools))
    if is_matrix(ctx.obj, options):
        ctx.exit(run_matrix_and_report(ctx.obj, options))
    ctx.exit(run_and_report(ctx.obj, options))


# Carries out `harness run --with NAME=VALUE,VALUE`: a run for each combination, and one table.


def run_matrix_and_report(project: Path, options: RunOptions) -> ExitCode:
    """Runs the missing trials of a new or resumed matrix, prints the table, and returns the worst exit status."""
    begun = begin_matrix(project, options, say) if options.resume is None else resume_matrix(project, options)
    gates = with_checked_gates(project, options, begun.plans[0])
    warn_of_no_isolation(begun.plans[0].sandbox)
    unfinished = begun.unfinished
    with _resumable(project, begun):
        for plan in unfinished:
            with watched(str(plan.name), len(plan.own), []) as watch:
                run_plan(plan, watch)
    runs = matrix_and_runs(begun.path, begun.matrix)
    table = matrix_table(begun.matrix, runs)
    if options.as_json:
        print_json(table.model_dump(mode="json"))
    else:
        show_matrix(table)
    codes = []
    for folder, summary in runs:
        write_report(folder, summary)
        if gates.floors or gates.no_worse_than or gates.against_baseline:
            out(quiet=options.as_json).print(f"gates of {folder.manifest.run}:", markup=False)
        codes.append(gated(project, folder, summary, gates))
    return max(codes)


@contextmanager
def _resumable(project: Path, begun: BegunMatrix) -> Iterator[None]:
    """Prints how to resume an interrupted matrix."""
    try:
        yield
    except (KeyboardInterrupt, HarnessError):
        place = "" if project == Path.cwd() else f"--project {shlex.quote(str(project))} "
        say(
            f"stopped; finished trials are stored. Resume with: harness {place}run --resume"
            f" {shlex.quote(begun.matrix.name)}"
        )
        raise


# `harness run --faults all`: injects every error of every tool at every step, one per trial.

_FAULTS_SHOWN = 20
_NOT_TAKEN = {
    "trials": "--trials",
    "against": "--against",
    "stop_early": "--stop-early",
    "check_determinism": "--check-determinism",
    "run_name": "--run-name",
    "executor": "--executor",
    "shard": "--shard",
    "floors": "--fail-under",
    "no_worse_than": "--no-worse-than",
    "against_baseline": "--against-baseline",
    "allow_unmeasured": "--allow-unmeasured",
    "max_inconclusive": "--max-inconclusive",
}
"""Field of the options -> option that a fault campaign does not support: it has no gates and plans its trials itself.
"""


def carry_out_campaign(project: Path, options: "RunOptions", *, own_tools: bool) -> ExitCode:
    """Runs the fault campaign and prints it; `own_tools`: --tools is not given, so the suite's services answer."""
    from harness.cli.console import print_json, say
    from harness.errors import UsageError
    from harness.improve.faults import run_campaign
    from harness.runs.execution.variants import variant_tool_mode
    from harness.runs.plan.planning import plan_of
    from harness.suite.loading import load_suite
    from harness.text import one_line

    if options.suite is None or options.resume is not None:
        raise UsageError("--faults all cannot resume a run", remedy="give the suite, without --resume")
    _refuse_not_taken(options)
    suite = load_suite(project, options.suite)
    update: dict[str, object] = {"trials": 1}
    if own_tools:
        update["tools"] = variant_tool_mode(suite)
    report = run_campaign(plan_of(project, options.model_copy(update=update)), say)
    if options.as_json:
        print_json(report.model_dump(mode="json"))
    else:
        for line in _lines(report):
            click.echo(one_line(line))
    return ExitCode.DONE


def _refuse_not_taken(options: "RunOptions") -> None:
    from harness.errors import UsageError

    given = [
        name
        for field, name in _NOT_TAKEN.items()
        if getattr(options, field) != type(options).model_fields[field].default
    ]
    if given:
        raise UsageError(
            f"--faults all does not support {', '.join(given)}: a campaign has no gates and plans its trials itself",
            remedy="omit these options; --json prints recovery by tool and error",
        )


def _lines(report: "CampaignReport") -> list[str]:
    total = report.total
    lines = [
        f"{report.suite} {report.agent}: recovered from {total.recovered} of {total.faults} faults"
        + (f" ({total.rate:.0%}, 95 % {total.low:.0%} to {total.high:.0%})" if total.faults else ""),
        "by tool, the worst first",
    ]
    lines += [f"  {name:<28}{one.recovered} of {one.faults}" for name, one in report.tools.items()]
    lines.append("by error")
    lines += [f"  {name:<28}{one.recovered} of {one.faults}" for name, one in report.errors.items() if one.faults]
    lines += [f"lost {one}" for one in report.lost[:_FAULTS_SHOWN]]
    if len(report.lost) > _FAULTS_SHOWN:
        lines.append(f"and {len(report.lost) - _FAULTS_SHOWN} more; --json has all")
    if report.unmet:
        lines.append(f"{report.unmet} faults were not measured: no call triggered them, or the trial was inconclusive")
    if report.not_passed:
        lines.append(f"skipped, because the agent fails without faults: {', '.join(report.not_passed)}")
    lines.append(f"stored as {report.run}")
    return lines


# Implements `harness run --watch`: runs the suite once, then the affected cases after each change of its files.

_CASES_SHOWN = 3


def watch_and_report(project: Path, options: RunOptions, *, faults: bool = False) -> ExitCode:
    """Runs until Ctrl-C, which exits with 0 while waiting; an interrupted run is stored, as without `--watch`.

    Errors of the first run are raised. Later errors, such as an invalid suite during an edit, are printed, and the
    program waits for the next change.
    """
    suite = _refuse_unwatchable(project, options, faults=faults)
    plan = plan_of(project, options)
    replayed = options.tools in ("replay", "sealed") and plan.model_mode in (None, "replay")
    watch = watch_of(project, plan.suite, replayed=replayed)
    known = watched_suite(project, suite, options.agent, watch.contents())
    run_and_report(project, options)
    seen = known.files
    while True:
        try:
            say(f"watching {len(seen)} files of {suite}; Ctrl-C ends it")
            seen = watch.changed_from(seen)
        except KeyboardInterrupt:
            say("stopped watching")
            return ExitCode.DONE
        say(f"changed: {_names(project, different(known.files, seen))}")
        try:
            now = watched_suite(project, suite, options.agent, seen)
            _run_affected(project, options, known, now)
        except HarnessError as error:
            say(f"harness: {error}")
            continue
        known, watch = now, watch_of(project, now.suite, replayed=replayed)


def _run_affected(project: Path, options: RunOptions, before: WatchedSuite, now: WatchedSuite) -> None:
    affected = set(affected_cases(project, before, now))
    selected = dict.fromkeys(one.case_id for one in plan_of(project, options).planned)
    cases = tuple(case for case in selected if case in affected)
    if not cases:
        say("no selected case depends on it")
        return
    say(f"running {len(cases)} of {len(selected)} cases again")
    run_and_report(project, options.model_copy(update={"cases": cases}))


def _refuse_unwatchable(project: Path, options: RunOptions, *, faults: bool) -> str:
    """The suite's name. Raises UsageError for options that apply to a single run."""
    one_run = {
        "--resume": options.resume is not None,
        "--run-name": options.run_name is not None,
        "--shard": options.shard is not None,
        "several values of --with": options.resume is None and is_matrix(project, options),
        "--faults": faults,
    }
    named = [name for name, given in one_run.items() if given]
    if named:
        raise UsageError(
            f"--watch starts several runs and cannot be combined with {named[0]}",
            remedy="omit one of the two",
        )
    if options.suite is None:
        raise UsageError("name a suite to watch", remedy="harness run SUITE --watch")
    return options.suite


def _names(project: Path, paths: Sequence[Path]) -> str:
    shown = [
        str(path.relative_to(project)) if path.is_relative_to(project) else str(path) for path in paths[:_CASES_SHOWN]
    ]
    more = f" and {len(paths) - _CASES_SHOWN} more" if len(paths) > _CASES_SHOWN else ""
    return f"{', '.join(shown)}{more}" if shown else "equal to the last run again"
