"""Carries out `harness drift` and prints what it found."""

from pathlib import Path
from typing import Any

import click

from harness.case import load_suite
from harness.cli.console import print_json, say
from harness.cli.filing import FileOptions, file_look
from harness.cli.running import run_ungated
from harness.drift import not_asked_lines, profile_lines, report_lines
from harness.errors import ExitCode, UsageError
from harness.pipeline import DriftPlan, DriftResult, FlipPlan, RunOptions, compare_run, learn_suite, probe_suite
from harness.pipeline.drift import suite_of
from harness.results.drift import DRIFT
from harness.runner import processors

_LOOKING = ("tools", "per_s", "no_flips", "no_learn", "as_json")
_TRACKER = ("tracker", "repo", "api_url", "timeout")


def run_and_compare(project: Path, suite: str, options: dict[str, Any]) -> tuple[DriftResult, ExitCode]:
    """Compares the live run; also returns the lowest exit status that the run itself requires."""
    others = {*_LOOKING, *_TRACKER, "file_too"}
    running = {name: value for name, value in options.items() if name not in others}
    folder = run_ungated(project, RunOptions(suite=suite, tools="live", **running))
    failed = [card for card in folder.scorecards() if card.outcome == "harness_failed"]
    if failed:
        say(f"{len(failed)} trials could not be run, so what their calls are answered is not known")
    plan = _plan(project, folder.manifest.suite, options, f"harness drift {folder.manifest.suite}")
    return compare_run(plan, folder.path, confirm=True), ExitCode.COULD_NOT if failed else ExitCode.DONE


def probe_and_compare(project: Path, suite: str, options: dict[str, Any]) -> DriftResult:
    """`harness drift probe`."""
    return probe_suite(_plan(project, suite, options, f"harness drift probe {suite}", name=options["run_name"]))


def compare_stored(project: Path, run: Path, options: dict[str, Any]) -> DriftResult:
    """`harness drift compare`."""
    if not run.is_dir():
        raise UsageError(f"there is no run {run.name!r}", remedy="see runs/")
    suite = suite_of(project, run).folder.name
    # The answers of a stored run are not a new sample, however often they are compared.
    plan = _plan(project, suite, {**options, "no_learn": True}, f"harness drift compare {run.name}")
    return compare_run(plan, run, confirm=options["confirm"])


def learn_tools(project: Path, suite: str, options: dict[str, Any]) -> None:
    """`harness drift learn`."""
    looking = {**options, "no_flips": True, "no_learn": False, "agent": None, "sandbox": "docker"}
    plan = _plan(project, suite, looking, f"harness drift learn {suite}")
    for profile in learn_suite(plan, options["samples"], accept=options["accept"]):
        for line in profile_lines(profile):
            click.echo(line)


def show_and_file(
    project: Path, looked: DriftResult, options: dict[str, Any], at_least: ExitCode = ExitCode.DONE
) -> ExitCode:
    """Prints the result, files it where `--file` is set, and returns the exit status."""
    code = show_looked(looked, as_json=options["as_json"], at_least=at_least)
    if not options["file_too"]:
        return code
    where = {name: options[name] for name in _TRACKER}
    return max(code, file_look(project, looked.report, FileOptions(**where, beside=options["as_json"])))


def show_looked(looked: DriftResult, *, as_json: bool, at_least: ExitCode = ExitCode.DONE) -> ExitCode:
    """Prints the result, and returns the exit status."""
    report = looked.report
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        for line in (*report_lines(report), *not_asked_lines(report.not_asked)):
            click.echo(line)
        restored = f" ({report.after_writes} after writes, {report.restores} restores)" if report.restores else ""
        click.echo(f"{looked.asked} recorded calls compared{restored}  {looked.folder / DRIFT}")
    found = exit_code(looked)
    return found if found == ExitCode.VERDICT else max(found, at_least)


def exit_code(looked: DriftResult) -> ExitCode:
    """A breaking change is a verdict; a tool of which nothing was seen is not clean."""
    if any(finding.severity == "breaking" for finding in looked.report.findings):
        return ExitCode.VERDICT
    return ExitCode.COULD_NOT if looked.blind or not looked.asked else ExitCode.DONE


def _plan(project: Path, suite: str, options: dict[str, Any], command: str, name: str | None = None) -> DriftPlan:
    loaded = load_suite(project, suite)
    words = [f"--case {case}" for case in options["cases"]] + [f"--tool {tool}" for tool in options["tools"]]
    flips = FlipPlan(
        project=project,
        suite=loaded,
        agent=options["agent"],
        sandbox=options["sandbox"],
        jobs=processors(),
        say=say,
    )
    return DriftPlan(
        project=project,
        suite=loaded,
        cases=options["cases"],
        tools=options["tools"],
        per_s=options["per_s"],
        samples=options.get("samples", 1),
        flips=None if options["no_flips"] else flips,
        learn=not options["no_learn"],
        name=name,
        command=" ".join([command, *words]),
        say=say,
    )
