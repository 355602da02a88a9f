"""`harness compare --migration`: prints a page about a change of the base model."""

from collections.abc import Sequence
from pathlib import Path

import click

from harness.case import load_stored_suite, prompt_texts
from harness.cli.output.console import out, print_json
from harness.errors import ExitCode, UsageError
from harness.report import MigrationView, compare_named, migration_markdown, migration_of, refuse_malformed
from harness.results import RunFolder, run_path


def compare_for_migration(project: Path, before: str, after: str, form: str, margins: Sequence[str]) -> ExitCode:
    """Prints the page in a format of `harness compare`; returns the exit status."""
    refuse_malformed(margins)
    if before.startswith("baseline:"):
        raise UsageError(
            "--migration needs the trials of two runs, but a baseline stores no trials",
            remedy="name the run that the baseline was set from, or run the old model again",
        )
    old, new = RunFolder.open(run_path(project, before)), RunFolder.open(run_path(project, after))
    comparison, repetitions = compare_named(project, before, new.path)
    found = migration_of((old, new), comparison, margins, repetitions(), _prompt_texts(project, new))
    match form:
        case "terminal":
            out().print(MigrationView(found))
        case "json":
            print_json(found.model_dump(mode="json"))
        case _:
            click.echo(migration_markdown(found), nl=False)
    return found.exit_code


def _prompt_texts(project: Path, run: RunFolder) -> dict[str, str]:
    """The prompts of the run's agent as it is now; empty for an imported run or a missing suite."""
    try:
        return prompt_texts(load_stored_suite(project, run.manifest.suite, run.path), run.manifest.agent)
    except UsageError:  # the page needs only names of prompts, so an invalid suite is not an error here
        return {}
