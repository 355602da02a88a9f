"""`harness mcp`: serves the project to coding agents."""

from pathlib import Path

import click


@click.command("mcp")
@click.pass_obj
def command(project: Path) -> None:
    """Serve read-only verbs and safe actions of this project to a coding agent, over MCP on standard input and output.

    \b
    harness mcp
    claude mcp add harness -- harness --project /path/to/project mcp

    Each tool is a verb: runs, trials, report, compare, trend, explain, transcript, drift, themes, issues,
    sessions.
    Actions score a stored run again, or write drafts and issues into the project. No tool calls a model or a service,
    deletes files, or writes outside the project. Results are limited in size and marked as data. Needs the extra `mcp`.
    """
    import asyncio

    from harness.mcp_server import serve

    asyncio.run(serve(project))
