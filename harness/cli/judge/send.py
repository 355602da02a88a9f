"""`harness judge send`: verdicts as scores of another system."""

from pathlib import Path

import click

from harness.results import run_path


@click.command("send")
@click.argument("run")
@click.option("--rubric", required=True, metavar="NAME", help="The rubric whose verdicts are sent.")
@click.pass_obj
def command(project: Path, run: str, rubric: str) -> None:
    """Send the verdicts about the stored RUN to Langfuse, as boolean scores of its traces.

    \b
    harness judge send production --rubric tool_agent

    The environment variables LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY select the project. Repeated
    calls update the same scores.
    """
    from harness.judge import Langfuse
    from harness.results import RunFolder, latest, read_judgements

    path = RunFolder.open(run_path(project, run)).path
    sent = Langfuse.from_environment().send(latest(read_judgements(path, rubric)).values())
    click.echo(f"{sent} scores sent")
