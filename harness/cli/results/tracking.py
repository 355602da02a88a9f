"""What `harness export` sends to Langfuse."""

from pathlib import Path

import click

from harness.results import run_path


def send_dataset(project: Path, suite_name: str, dataset: str | None) -> None:
    """The cases of a suite as a dataset of Langfuse."""
    from harness.case import load_suite
    from harness.experiments import export_dataset
    from harness.pipeline import secret_values
    from harness.upstream import LangfuseClient

    suite = load_suite(project, suite_name)
    client = LangfuseClient.from_environment(secret_values(suite))
    changes = export_dataset(client, suite, suite.cases, dataset or suite.name)
    click.echo(
        f"dataset {changes.dataset.name}: {changes.added} added, {changes.changed} changed,"
        f" {changes.unchanged} unchanged" + (f", {changes.others} of others left as they are" if changes.others else "")
    )


def send_run(project: Path, run: str, dataset: str | None) -> None:
    """A run as an experiment of Langfuse."""
    from harness.cli.output.console import say
    from harness.experiments import export_run
    from harness.pipeline import secret_values, suite_of
    from harness.results import RunFolder
    from harness.upstream import LangfuseClient

    folder = RunFolder.open(run_path(project, run))
    suite = suite_of(project, folder)
    client = LangfuseClient.from_environment(secret_values(suite))
    done = export_run(client, folder, suite, dataset or suite.name)
    if done.unknown_cases:
        say(f"left out, since suite {suite.name} no longer has the case: {', '.join(done.unknown_cases)}")
    changes = done.changes
    click.echo(
        f"experiment {folder.manifest.run} on dataset {changes.dataset.name}: {done.trials} trials, {done.spans} spans,"
        f" {done.scores} scores sent; {changes.added} items added, {changes.changed} changed"
    )
