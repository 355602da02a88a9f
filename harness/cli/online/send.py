"""`harness online send`: stored runs as sessions."""

from pathlib import Path

import click

from harness.results import run_path
from harness.visible_text import one_line


@click.command("send")
@click.argument("run")
@click.option("--url", default="http://127.0.0.1:4318", show_default=True, help="The receiver.")
@click.option(
    "--token", "variable", metavar="VARIABLE", help="Environment variable that holds the receiver's trusted token."
)
@click.option("--release", default="", metavar="NAME", help="Release that is set on every session.")
@click.pass_obj
def send(project: Path, /, run: str, url: str, variable: str | None, release: str) -> None:
    """Send every trial of the stored RUN to a receiver, each as a session.

    \b
    harness online send tour-v2 --token HARNESS_TOKEN

    With a trusted token (`harness ingest serve --trusted-token`), the sessions get the same verdicts as the trials.
    Without it, they are ordinary sessions, and their statements about observed calls are ignored.
    """
    import os

    from harness.cli.output.console import say
    from harness.errors import UsageError
    from harness.online import left_out_of, post_otlp, refused_in, trial_requests
    from harness.results import RunFolder, stored_reference_states

    token = None if variable is None else os.environ.get(variable)
    if variable is not None and not token:
        raise UsageError(f"the environment variable {variable} is not set")
    folder = RunFolder.open(run_path(project, run))
    count = 0
    references = stored_reference_states(folder.path)
    for stored in folder.trials():
        problems = [left_out_of(stored)]
        for path, request in trial_requests(folder.manifest.run, stored, release=release, references=references):
            problems.append(refused_in(post_otlp(url, path, request, token)))
        count += 1
        for problem in dict.fromkeys(one for one in problems if one):
            say(one_line(f"{stored.trial.case_id}/{stored.trial.attempt} may get other verdicts online: {problem}"))
    click.echo(f"sent {count} trials of {folder.manifest.run}")
