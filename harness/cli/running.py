"""Implements `harness run` and similar verbs: plan, run with a progress bar, print, and choose the exit status."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from harness.cli.console import Tally, out, say
from harness.cli.showing import show_run
from harness.errors import ExitCode
from harness.reports.gates import check_floors, gate
from harness.reports.margin import no_worse_than, refuse_malformed, refuse_unusable
from harness.reports.render.sections import margin_lines
from harness.reports.render.wording import crash_words, model_words, reason_words, remedy_words, variable_words
from harness.reports.summary import Summary
from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunOptions, RunPlan
from harness.runs.plan.planning import plan_of
from harness.runs.store.baseline import latest_comparable, read_baseline
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest
from harness.sandbox.providers import isolates
from harness.scoring.scorecard import Scorecard
from harness.suite.suites import Suite
from harness.traces.trial import Trial

if TYPE_CHECKING:
    from harness.reports.compare import Comparison


def run_and_report(project: Path, options: RunOptions) -> ExitCode:
    """Runs the suite, prints the results, and returns the exit status."""
    plan = plan_of(project, options)
    check_gates(project, plan)
    folder = _made(project, plan)
    summary = show_run(folder, as_json=options.as_json)
    if not options.as_json and not plan.gates.against_baseline and os.environ.get("CI"):
        _show_difference(folder)
    return gated(project, folder, summary, quiet=options.as_json)


def check_gates(project: Path, plan: RunPlan) -> None:
    """Raises UsageError or NotMeasured, before any trial starts, for a gate that could not be evaluated."""
    gates = plan.gates
    if gates.against_baseline:
        check_baseline(project, plan.suite)
    if gates.no_worse_than:
        refuse_malformed(gates.margins)
        refuse_unusable(gates.margins, (read_baseline(project, plan.suite.name, plan.suite.digest).manifest,))
    check_floors(plan.suite, gates.floors)


def gated(project: Path, folder: RunFolder, summary: Summary, *, quiet: bool) -> ExitCode:
    """Prints the result of the run's gates, as its manifest has them, and returns the exit status."""
    gates, held = folder.manifest.gates, ExitCode.DONE
    if gates.against_baseline:
        allowed = max(gates.allow_unmeasured, gates.max_inconclusive)
        held = hold(project, folder, allow_unmeasured=allowed, quiet=quiet)
    if gates.no_worse_than:
        held = max(held, hold_margins(project, folder, gates.margins, quiet=quiet))
    code, failed = max(judge(summary, quiet=quiet), held), summary.success.successes < summary.success.n
    if code == ExitCode.DONE and failed and not gates.any and folder.manifest.tool_mode != "record":
        say("no gate is set: this run cannot fail; set `gates: {fail_under: {task_success: 1}}` in suite.yaml")
    return code


def run_ungated(project: Path, options: RunOptions) -> RunFolder:
    """The run folder, after every planned trial has been made; the gates are not evaluated."""
    return _made(project, plan_of(project, options))


def _made(project: Path, plan: RunPlan) -> RunFolder:
    check_floors(plan.suite, plan.gates.floors)  # before any trial starts
    warn_of_no_isolation(plan.sandbox)
    started: list[str] = []
    with _resumable(project, started), watched(plan, started) as watch:
        return run_plan(plan, watch)


def judge(summary: Summary, *, quiet: bool) -> ExitCode:
    """The exit status: gates first, then misses; an unmeasured result is never a pass."""
    gates, codes = summary.manifest.gates, [ExitCode.DONE]
    if gates.fail_under:
        result = gate(summary, gates.floors, gates.allow_unmeasured)
        for check in result.checks:
            out(quiet=quiet).print(f"gate {check.metric} >= {check.floor:g}: {_word(check.holding)} ({check.reason})")
        codes.append(result.exit_code)
    if summary.crashed:
        for line in crash_words(summary):
            say(line)
        codes.append(ExitCode.VERDICT)
    if summary.counts.inconclusive > gates.max_inconclusive:
        say(": ".join(remedy_words(summary)))
        codes.append(ExitCode.VERDICT)
    return max(*codes, _of_what_did_not_run(summary))


def _of_what_did_not_run(summary: Summary) -> ExitCode:
    counts = summary.counts
    if counts.simulator_failed and not counts.measured:
        say("nothing was measured: every conversation was invalidated by its user; see `harness simulator report`")
        return ExitCode.COULD_NOT
    return ExitCode.COULD_NOT if counts.harness_failed or counts.not_run else ExitCode.DONE


def warn_of_no_isolation(sandbox: str) -> None:
    """Warns on standard error if the sandbox does not isolate; a resumed run uses the sandbox of its folder."""
    if not isolates(sandbox):
        say(f"sandbox `{sandbox}`: the agent is NOT isolated from this machine")


@contextmanager
def watched(plan: RunPlan, started: list[str]) -> Iterator[Watch]:
    """Shows the progress of the trials that are missing; the names of runs that begin are added to `started`."""
    before = 0 if plan.resumes is None else len(RunFolder.open(plan.resumes).finished())
    with Tally(plan.name or plan.suite.name, len(plan.own) - before).shown() as tally:

        def began(manifest: RunManifest) -> None:
            started.append(manifest.run)
            variables = f" ({variable_words(manifest.variables)})" if manifest.variables else ""
            tally.say(
                f"run {manifest.run}: {manifest.suite} {manifest.agent}{variables}, tools {manifest.tool_mode}, "
                f"{model_words(manifest)}, "
                f"sandbox {manifest.provider}, {len(manifest.planned)} trials"
            )

        def finished(_: Trial, card: Scorecard) -> None:
            tally.count(failed=card.success is False)

        yield Watch(say=tally.say, began=began, finished=finished)


@contextmanager
def _resumable(project: Path, started: Sequence[str]) -> Iterator[None]:
    """Prints how to resume a run that Ctrl-C stopped."""
    try:
        yield
    except KeyboardInterrupt:
        place = "" if project == Path.cwd() else f"--project {shlex.quote(str(project))} "
        for run in started:
            say(f"stopped; finished trials are stored. Resume with: harness {place}run --resume {shlex.quote(run)}")
        raise


def _show_difference(folder: RunFolder) -> None:
    earlier = latest_comparable(folder.path.parent, folder.manifest, same_agent=True)
    if earlier is not None:
        from harness.reports.compare import compare_runs  # the first run of a suite has none to be compared with

        _show_comparison(out(), compare_runs(earlier, folder), earlier.manifest.run)


# The gate `--no-worse-than`: compares figures with the baseline.


def hold_margins(project: Path, folder: RunFolder, margins: Sequence[str], *, quiet: bool) -> ExitCode:
    """Prints each figure with its margin; returns 0 better or at parity, 1 worse, 3 not determined."""
    from harness.reports.named import compare_named

    before = f"baseline:{folder.manifest.suite}"
    checks = no_worse_than(compare_named(project, before, folder.path, margins), margins)
    console = out(quiet=quiet)
    for line in margin_lines(checks):
        console.print(f"gate: {line}", markup=False)
    return max(check.exit_code for check in checks)


# Comparisons with a baseline, for the verbs that take one.


def check_baseline(project: Path, suite: Suite) -> None:
    """Raises NotMeasured if the current suite has no baseline."""
    read_baseline(project, suite.name, suite.digest)


def hold(project: Path, folder: RunFolder, *, allow_unmeasured: int, quiet: bool) -> ExitCode:
    """Prints the comparison with the baseline, unless `quiet`; returns whether the gate holds."""
    from harness.reports.compare import compare_with_baseline, hold_against

    console = out(quiet=quiet)
    baseline = read_baseline(project, folder.manifest.suite)
    comparison = compare_with_baseline(baseline, folder)
    if not quiet:
        _show_comparison(console, comparison, f"baseline:{folder.manifest.suite}")
    gate = hold_against(baseline, folder, comparison, allow_unmeasured)
    console.print(f"gate baseline: {_word(gate.holding)} ({gate.reason})")
    for one in gate.lost:
        console.print(f"  lost {one.case_id}/{one.attempt}: {reason_words(one.reasons)}", markup=False, soft_wrap=True)
    if gate.left_out:
        unlike = ", ".join(gate.left_out)
        console.print(f"  not compared, because the versions of the baseline differ: {unlike}", markup=False)
    return gate.exit_code


def _word(holding: str) -> str:
    return holding.replace("_", " ")


def _show_comparison(console: Console, comparison: "Comparison", before: str) -> None:
    from harness.reports.render.terminal import first_comparison  # a run without an earlier one shows none

    console.print()
    console.print(first_comparison(comparison, before))
