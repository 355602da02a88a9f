"""Implements `harness run --watch`: runs the suite once, then the affected cases after each change of its files."""

from collections.abc import Sequence
from pathlib import Path

from harness.cli.output.console import say
from harness.cli.run.running import run_and_report
from harness.errors import ExitCode, HarnessError, UsageError
from harness.pipeline import (
    RunOptions,
    WatchedSuite,
    affected_cases,
    different,
    is_matrix,
    plan_of,
    watch_of,
    watched_suite,
)

_SHOWN = 3


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
    shown = [str(path.relative_to(project)) if path.is_relative_to(project) else str(path) for path in paths[:_SHOWN]]
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"{', '.join(shown)}{more}" if shown else "equal to the last run again"
