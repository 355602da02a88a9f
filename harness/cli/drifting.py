"""Carries out `harness drift` and prints what it found."""

from pathlib import Path
from typing import Any

import click

from harness.case.loading import load_suite
from harness.cli.console import print_json, say
from harness.cli.filing import FileOptions, file_look
from harness.drift.words import not_asked_lines, report_lines
from harness.errors import ExitCode
from harness.pipeline.drift import Looked, LookPlan, compare_run, probe_suite, suite_of


def probe_options(project: Path, suite: str, options: dict[str, Any]) -> Looked:
    """`harness drift probe`."""
    loaded = load_suite(project, suite)
    plan = LookPlan(
        project=project,
        suite=loaded,
        cases=options["cases"],
        tools=options["tools"],
        per_s=options["per_s"],
        name=options["run_name"],
        command=_again(f"harness drift probe {loaded.name}", options),
        say=say,
    )
    return probe_suite(plan)


def compare_options(project: Path, run: Path, options: dict[str, Any]) -> Looked:
    """`harness drift compare`."""
    plan = LookPlan(
        project=project,
        suite=suite_of(project, run),
        cases=options["cases"],
        tools=options["tools"],
        command=_again(f"harness drift compare {run.name}", options),
        say=say,
    )
    return compare_run(plan, run, confirm=options["confirm"])


def show_and_file(project: Path, looked: Looked, options: dict[str, Any]) -> ExitCode:
    """Prints it, files it where `--file` says so, and says how the process should end."""
    code = show_looked(looked, as_json=options["as_json"])
    if not options["file_too"]:
        return code
    where = {name: options[name] for name in ("tracker", "repo", "api_url", "timeout")}
    return max(code, file_look(project, looked.report, FileOptions(**where, beside=options["as_json"])))


def show_looked(looked: Looked, *, as_json: bool) -> ExitCode:
    """Prints it, and says how the process should end."""
    report = looked.report
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        for line in (*report_lines(report), *not_asked_lines(dict(looked.not_asked))):
            click.echo(line)
        click.echo(f"{looked.asked} recorded calls compared  {looked.folder / 'drift.json'}")
    return exit_code(looked)


def exit_code(looked: Looked) -> ExitCode:
    """A breaking change is a verdict; a tool of which nothing was seen is not clean."""
    if any(finding.severity == "breaking" for finding in looked.report.findings):
        return ExitCode.VERDICT
    return ExitCode.COULD_NOT if looked.blind or not looked.asked else ExitCode.DONE


def _again(start: str, options: dict[str, Any]) -> str:
    cases = [f"--case {case}" for case in options["cases"]]
    return " ".join([start, *cases, *(f"--tool {tool}" for tool in options["tools"])])
