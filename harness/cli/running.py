"""Carries out `harness run` and its kin: plan, run with a progress bar, print, and choose the exit status."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.case import Suite
from harness.cli.baselines import check_baseline, hold
from harness.cli.console import out, print_json, progress_bar, say
from harness.cli.showing import show_comparison, show_divergences, show_gate, show_summary
from harness.errors import ExitCode
from harness.pipeline import RunOptions, RunPlan, Watch, divergences, plan_of, run_plan
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
from harness.results import RunFolder, RunManifest, allowed_inconclusive, latest_comparable
from harness.sandbox import isolates
from harness.score import Scorecard
from harness.trace import Trial


def run_and_report(project: Path, options: RunOptions) -> ExitCode:
    """Runs the suite, prints the results, and returns the exit status."""
    plan = plan_of(project, options)
    options = _with_gates(options, plan.suite, plan.max_inconclusive)
    if options.against_baseline:
        check_baseline(project, plan.suite)  # before anything is spent
    folder = _made(project, options, plan)
    summary = summarise_run(folder)
    report = write_report(folder, summary)
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


def run_ungated(project: Path, options: RunOptions) -> RunFolder:
    """The run folder, after every planned trial has been made; the suite's gates are not evaluated."""
    return _made(project, options, plan_of(project, options))


def _made(project: Path, options: RunOptions, plan: RunPlan) -> RunFolder:
    check_floors(plan.suite, options.floors)  # before anything is spent
    with _watched(project, options, len(plan.own)) as watch:
        return run_plan(plan, watch)


def judge_merged(project: Path, folder: RunFolder, summary: Summary, suite: Suite, *, as_json: bool) -> ExitCode:
    """The exit status of a run that shards were merged into: that of the undivided run, by the suite's gates."""
    options = _with_gates(RunOptions(as_json=as_json), suite, allowed_inconclusive(folder))
    held = _held(project, folder, options) if options.against_baseline else ExitCode.DONE
    return max(judge(folder, summary, options), held)


def _with_gates(options: RunOptions, suite: Suite, max_inconclusive: int) -> RunOptions:
    """The options, and the suite's gates where no option takes their place."""
    gates = suite.gates
    typed = {floor.partition("=")[0].strip() for floor in options.floors}
    own = (f"{figure}={least!r}" for figure, least in gates.fail_under.items() if figure not in typed)
    return options.model_copy(
        update={
            "floors": (*options.floors, *own),
            "against_baseline": options.against_baseline or gates.against_baseline,
            "allow_unmeasured": _or(options.allow_unmeasured, gates.allow_unmeasured),
            "max_inconclusive": max_inconclusive,
        }
    )


def _or(typed: int | None, declared: int) -> int:
    return declared if typed is None else typed


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
    """Prints how to resume a run that is stopped by Ctrl-C."""
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
