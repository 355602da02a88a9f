"""Carries out `harness drift` and prints what it found."""

from collections.abc import Mapping
from pathlib import Path

import click

from harness.case import load_suite
from harness.cli.drift.filing import FileOptions, file_look
from harness.cli.output.console import print_json, say
from harness.cli.run.running import run_ungated
from harness.drift import not_asked_lines, profile_lines, report_lines
from harness.errors import ExitCode, UsageError
from harness.pipeline import DriftPlan, DriftResult, FlipPlan, RunOptions, compare_run, learn_suite, probe_suite
from harness.pipeline.drift.check import suite_of
from harness.results.drift import DRIFT
from harness.runner import processors
from harness.sandbox import ProviderName
from harness.values import Frozen


class DriftCheckOptions(Frozen):
    """The options of one drift check, before validation."""

    cases: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    agent: str | None = None
    sandbox: ProviderName = "docker"
    run_name: str | None = None
    per_s: int
    samples: int = 1
    no_flips: bool = False
    no_learn: bool = False
    confirm: bool = False
    accept: bool = False
    as_json: bool = False
    file_too: bool = False
    tracker: str | None = None
    repo: str | None = None
    api_url: str | None = None
    timeout: int = 30


_SHARED = {"cases", "agent", "sandbox", "run_name"}
"""Fields that the options of a run have too."""


def options_of_run(suite: str, typed: Mapping[str, object]) -> tuple[RunOptions, DriftCheckOptions]:
    """The options of `harness drift run`: those of its run, and those of the comparison."""
    look = {name: value for name, value in typed.items() if name in DriftCheckOptions.model_fields}
    run = {name: value for name, value in typed.items() if name not in look or name in _SHARED}
    return RunOptions.model_validate({"suite": suite, "tools": "live", **run}), DriftCheckOptions.model_validate(look)


def run_and_compare(project: Path, running: RunOptions, options: DriftCheckOptions) -> tuple[DriftResult, ExitCode]:
    """Compares the live run; also returns the lowest exit status that the run itself requires."""
    folder = run_ungated(project, running)
    failed = [card for card in folder.scorecards() if card.outcome == "harness_failed"]
    if failed:
        say(f"{len(failed)} trials could not be run, so the answers to their calls are unknown")
    plan = _plan(project, folder.manifest.suite, options, f"harness drift {folder.manifest.suite}")
    return compare_run(plan, folder.path, confirm=True), ExitCode.COULD_NOT if failed else ExitCode.DONE


def probe_and_compare(project: Path, suite: str, options: DriftCheckOptions) -> DriftResult:
    """`harness drift probe`."""
    return probe_suite(_plan(project, suite, options, f"harness drift probe {suite}", name=options.run_name))


def compare_stored(project: Path, run: Path, options: DriftCheckOptions) -> DriftResult:
    """`harness drift compare`."""
    if not run.is_dir():
        raise UsageError(f"there is no run {run.name!r}", remedy="see runs/")
    suite = suite_of(project, run).folder.name
    # The answers of a stored run are not a new sample, however often they are compared.
    looking = options.model_copy(update={"no_learn": True})
    plan = _plan(project, suite, looking, f"harness drift compare {run.name}")
    return compare_run(plan, run, confirm=options.confirm)


def learn_tools(project: Path, suite: str, options: DriftCheckOptions) -> None:
    """`harness drift learn`."""
    plan = _plan(project, suite, options.model_copy(update={"no_flips": True}), f"harness drift learn {suite}")
    for profile in learn_suite(plan, options.samples, accept=options.accept):
        for line in profile_lines(profile):
            click.echo(line)


def show_and_file(
    project: Path, result: DriftResult, options: DriftCheckOptions, at_least: ExitCode = ExitCode.DONE
) -> ExitCode:
    """Prints the result, files it where `--file` is set, and returns the exit status."""
    code = show_examined(result, as_json=options.as_json, at_least=at_least)
    if not options.file_too:
        return code
    filing = FileOptions(
        tracker=options.tracker,
        repo=options.repo,
        api_url=options.api_url,
        timeout=options.timeout,
        beside=options.as_json,
    )
    return max(code, file_look(project, result.report, filing))


def show_examined(result: DriftResult, *, as_json: bool, at_least: ExitCode = ExitCode.DONE) -> ExitCode:
    """Prints the result, and returns the exit status."""
    report = result.report
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        for line in (*report_lines(report), *not_asked_lines(report.not_asked)):
            click.echo(line)
        restored = f" ({report.after_writes} after writes, {report.restores} restores)" if report.restores else ""
        click.echo(f"{result.asked} recorded calls compared{restored}  {result.folder / DRIFT}")
    found = exit_code(result)
    return found if found == ExitCode.VERDICT else max(found, at_least)


def exit_code(result: DriftResult) -> ExitCode:
    """The exit status: 1 for a breaking change, 3 for a tool without any answer, else 0."""
    if any(finding.severity == "breaking" for finding in result.report.findings):
        return ExitCode.VERDICT
    return ExitCode.COULD_NOT if result.blind or not result.asked else ExitCode.DONE


def _plan(project: Path, suite: str, options: DriftCheckOptions, command: str, name: str | None = None) -> DriftPlan:
    loaded = load_suite(project, suite)
    words = [f"--case {case}" for case in options.cases] + [f"--tool {tool}" for tool in options.tools]
    flips = FlipPlan(
        project=project,
        suite=loaded,
        agent=options.agent,
        sandbox=options.sandbox,
        jobs=processors(),
        say=say,
    )
    return DriftPlan(
        project=project,
        suite=loaded,
        cases=options.cases,
        tools=options.tools,
        per_s=options.per_s,
        samples=options.samples,
        flips=None if options.no_flips else flips,
        learn=not options.no_learn,
        name=name,
        command=" ".join([command, *words]),
        say=say,
    )
