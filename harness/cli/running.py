"""Implements `harness run` and similar verbs: plan, run with a progress bar, print, and choose the exit status."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.cli.console import out, print_json, progress_bar, say
from harness.cli.showing import show_baseline_gate, show_comparison, show_gate, show_summary
from harness.errors import ExitCode
from harness.reports.gates import check_floors, gate
from harness.reports.margin import margins_of, no_worse_than, refuse_malformed, refuse_unusable
from harness.reports.render.markdown import write_report
from harness.reports.render.sections import margin_lines
from harness.reports.render.wording import crash_words, model_words, remedy_words, variable_words
from harness.reports.summarising import summarise_run
from harness.reports.summary import Summary
from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunOptions, RunPlan
from harness.runs.plan.planning import plan_of
from harness.runs.store.baseline import latest_comparable, read_baseline
from harness.runs.store.beside_trials import allowed_inconclusive
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest
from harness.sandbox.providers import isolates
from harness.scoring.scorecard import Scorecard
from harness.suite.suites import Suite
from harness.traces.trial import Trial


def run_and_report(project: Path, options: RunOptions) -> ExitCode:
    """Runs the suite, prints the results, and returns the exit status."""
    plan = plan_of(project, options)
    options = with_checked_gates(project, options, plan)
    folder = _made(project, options, plan)
    summary = summarise_run(folder)
    report = write_report(folder, summary)
    if options.as_json:
        print_json(summary.model_dump(mode="json"))
    else:
        show_summary(out(), summary, report)
        if not options.against_baseline:
            _show_difference(folder)
    return gated(project, folder, summary, options)


def with_checked_gates(project: Path, options: RunOptions, plan: RunPlan) -> RunOptions:
    """The options with the suite's gates. Raises UsageError or NotMeasured, before any trial starts, for a gate that
    could not be evaluated.
    """
    options = _with_gates(options, plan.suite, plan.max_inconclusive)
    if options.against_baseline:
        check_baseline(project, plan.suite)
    if options.no_worse_than:
        check_margins(project, plan.suite, options)
    check_floors(plan.suite, options.floors)
    return options


def gated(project: Path, folder: RunFolder, summary: Summary, options: RunOptions) -> ExitCode:
    """Prints the result of the gates, and returns the exit status."""
    held = _held(project, folder, options) if options.against_baseline else ExitCode.DONE
    held = max(held, _held_by_margins(project, folder, options))
    return max(judge(summary, options), held)


def _held(project: Path, folder: RunFolder, options: RunOptions) -> ExitCode:

    allowed = max(options.allow_unmeasured or 0, options.max_inconclusive or 0)
    return hold(project, folder, allow_unmeasured=allowed, quiet=options.as_json)


def _held_by_margins(project: Path, folder: RunFolder, options: RunOptions) -> ExitCode:
    if not options.no_worse_than:
        return ExitCode.DONE

    return hold_margins(project, folder, options)


def run_ungated(project: Path, options: RunOptions) -> RunFolder:
    """The run folder, after every planned trial has been made; the suite's gates are not evaluated."""
    return _made(project, options, plan_of(project, options))


def _made(project: Path, options: RunOptions, plan: RunPlan) -> RunFolder:
    check_floors(plan.suite, options.floors)  # before any trial starts
    warn_of_no_isolation(plan.sandbox)
    started: list[str] = []
    with _resumable(project, started), watched(plan.suite.name, len(plan.own), started) as watch:
        return run_plan(plan, watch)


def judge_merged(project: Path, folder: RunFolder, summary: Summary, suite: Suite, *, as_json: bool) -> ExitCode:
    """The exit status of a merged run, by the suite's gates: that of the same run without shards."""
    options = _with_gates(RunOptions(as_json=as_json), suite, allowed_inconclusive(folder))
    held = _held(project, folder, options) if options.against_baseline else ExitCode.DONE
    return max(judge(summary, options), held, _held_by_margins(project, folder, options))


def _with_gates(options: RunOptions, suite: Suite, max_inconclusive: int) -> RunOptions:
    """The options, with the suite's gates as defaults."""
    gates = suite.gates
    typed = {floor.partition("=")[0].strip() for floor in options.floors}
    own = (f"{figure}={least!r}" for figure, least in gates.fail_under.items() if figure not in typed)
    return options.model_copy(
        update={
            "floors": (*options.floors, *own),
            "no_worse_than": margins_of(gates.no_worse_than, options.no_worse_than),
            "against_baseline": options.against_baseline or gates.against_baseline,
            "allow_unmeasured": _or(options.allow_unmeasured, gates.allow_unmeasured),
            "max_inconclusive": max_inconclusive,
        }
    )


def _or(typed: int | None, declared: int) -> int:
    return declared if typed is None else typed


def judge(summary: Summary, options: RunOptions) -> ExitCode:
    """The exit status: gates first, then misses; an unmeasured result is never a pass."""
    console = out(quiet=options.as_json)
    codes = [ExitCode.DONE]
    if options.floors:
        result = gate(summary, options.floors, options.allow_unmeasured or 0)
        show_gate(console, result)
        codes.append(result.exit_code)
    if summary.crashed:
        for line in crash_words(summary):
            say(line)
        codes.append(ExitCode.VERDICT)
    if summary.counts.inconclusive > (options.max_inconclusive or 0):
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
def watched(title: str, total: int, started: list[str]) -> Iterator[Watch]:
    """A progress bar of `total` trials; the names of runs that begin are added to `started`."""
    with progress_bar(title, total) as bar:

        def began(manifest: RunManifest) -> None:
            started.append(manifest.run)
            variables = f" ({variable_words(manifest.variables)})" if manifest.variables else ""
            bar.console.print(
                f"run {manifest.run}: {manifest.suite} {manifest.agent}{variables}, tools {manifest.tool_mode}, "
                f"{model_words(manifest)}, "
                f"sandbox {manifest.provider}, {len(manifest.planned)} trials"
            )

        def finished(trial: Trial, card: Scorecard) -> None:
            mark = {True: "passed", False: "failed", None: trial.outcome}[card.success]
            bar.update(bar.task_ids[0], advance=1, note=f"{trial.case_id} {mark}")

        yield Watch(say=bar.console.print, began=began, finished=finished)


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

        show_comparison(out(), compare_runs(earlier, folder))


# The gate `--no-worse-than`: compares figures with the baseline.


def check_margins(project: Path, suite: Suite, options: RunOptions) -> None:
    """Raises UsageError or NotMeasured before any trial starts if the gate could not be evaluated."""
    refuse_malformed(options.no_worse_than)
    refuse_unusable(options.no_worse_than, (read_baseline(project, suite.name, suite.digest).manifest,))


def hold_margins(project: Path, folder: RunFolder, options: RunOptions) -> ExitCode:
    """Prints each figure with its margin; returns 0 better or at parity, 1 worse, 3 not determined."""
    from harness.reports.named import compare_named

    before = f"baseline:{folder.manifest.suite}"
    comparison, repetitions = compare_named(project, before, folder.path, options.no_worse_than)
    checks = no_worse_than(comparison, options.no_worse_than, repetitions())
    console = out(quiet=options.as_json)
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
        show_comparison(console, comparison)
    gate = hold_against(baseline, folder, comparison, allow_unmeasured)
    show_baseline_gate(console, gate)
    return gate.exit_code
