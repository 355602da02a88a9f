"""`harness tool`: lists the tools of a suite and updates the stored listings."""

from pathlib import Path

import click

_SHOWN = 110


@click.group("tool")
def command() -> None:
    """List a suite's tools; update the stored listings of their sources."""


@command.command("list")
@click.argument("suite")
@click.option("--json", "as_json", is_flag=True, help="Print the tools with their schemas as JSON.")
@click.pass_obj
def list_tools(project: Path, suite: str, as_json: bool) -> None:
    """List the tools of SUITE: server, source, effect and arguments.

    \b
    harness tool list drive_thru
    harness tool list drive_thru --json
    """
    from harness.case import load_suite, signature
    from harness.cli.output.console import print_json

    tools = load_suite(project, suite).tools
    if as_json:
        print_json([tool.model_dump(mode="json", exclude_defaults=True) for tool in tools])
        return
    for tool in tools:
        name = signature(tool)
        click.echo(f"{tool.server}  {tool.source}  {tool.effect:5}  {name}")
        first = tool.description.strip().partition("\n")[0]
        if first:
            click.echo(f"    {first if len(first) <= _SHOWN else first[: _SHOWN - 3] + '...'}")
    click.echo(f"{len(tools)} tools")


@command.command("refresh")
@click.argument("suite")
@click.option(
    "--check", is_flag=True, help="Write nothing; exit 1 if the listing of a source differs from the stored one."
)
@click.pass_context
def refresh(ctx: click.Context, suite: str, check: bool) -> None:
    """Read the tool listings of the sources of SUITE (MCP servers, Python files, remote documents) and store them.

    The listings are stored in the suite's folder `tools/`, so that a replay needs no server.
    """
    from harness.errors import ExitCode
    from harness.pipeline import refresh_tools

    changed = False
    for source in refresh_tools(ctx.obj, suite, write=not check):
        click.echo(f"{source.server}: {source.tools} tools, {len(source.changes)} changes  {source.path}")
        for change in source.changes:
            changed = True
            click.echo(f"  {change.what} {change.tool}")
    ctx.exit(ExitCode.VERDICT if check and changed else ExitCode.DONE)
