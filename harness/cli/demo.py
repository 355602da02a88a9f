"""`harness demo`: the whole product in one command."""

from pathlib import Path

import click

from harness.cli.options import jobs_option


@click.command("demo")
@click.argument("suite")
@click.option("--install-tools", is_flag=True, help="As root on Debian: install mmdebstrap where it is missing.")
@jobs_option
@click.pass_context
def command(ctx: click.Context, suite: str, install_tools: bool, jobs: int | None) -> None:
    """Build what is missing, run every version of SUITE's agent in replay mode, and compare them.

    \b
    harness demo drive_thru

    Where no container engine answers it says so and uses the sandbox `local`, which isolates nothing.
    """
    from harness.cli.demonstration import demonstrate

    project: Path = ctx.obj
    ctx.exit(demonstrate(project, suite, install_tools=install_tools, jobs=jobs))
