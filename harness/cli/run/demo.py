"""`harness demo`: builds, runs and compares a suite in one command."""

from pathlib import Path

import click

from harness.cli.options import jobs_option


@click.command("demo")
@click.argument("suite")
@click.option("--install-tools", is_flag=True, help="Install mmdebstrap if it is missing (as root, on Debian).")
@jobs_option
@click.pass_context
def command(ctx: click.Context, suite: str, install_tools: bool, jobs: int | None) -> None:
    """Build missing images, run every version of SUITE's agent in replay mode, and compare them.

    \b
    harness demo drive_thru

    If no container engine is reachable, the verb prints a warning and uses the sandbox `local`, without isolation.
    """
    from harness.cli.run.demonstration import demonstrate

    project: Path = ctx.obj
    ctx.exit(demonstrate(project, suite, install_tools=install_tools, jobs=jobs))
