"""Implements `harness view`."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from harness.cli.options import open_option, page_port_option


@click.command("view")
@click.argument("folder", required=False, type=click.Path(file_okay=False, exists=True, path_type=Path))
@page_port_option
@open_option
@click.pass_obj
def command(project: Path, /, folder: Path | None, port: int, opens: bool) -> None:
    """Show all runs of a project in a web app, which this machine alone can open.

    \b
    harness view
    harness view path/to/project --port 8123 --no-open

    FOLDER is the project; without it, the one of `--project`. The printed link opens one browser, once; Enter prints
    another. Ctrl-C ends the app. It changes nothing but labels, candidates of judges and the tags of runs, and can
    ask a run in flight to stop.
    """
    serve_app(folder or project, port, opens=opens)


def serve_app(project: Path, port: int, *, opens: bool, start: str = "/") -> None:
    """Serves the app until Ctrl-C; its links lead to the page `start`."""
    from harness.view import ViewServer

    with ViewServer(project.resolve(), port, start) as server:
        click.echo(server.url)
        click.echo("open this link in a browser, once; Enter prints another link, Ctrl-C ends the app", err=True)
        if opens:
            click.launch(server.url)
        _serve(server.another_link)


def _serve(another_link: Callable[[], str]) -> None:
    """Until Ctrl-C, which is no error; a closed input ends nothing, because the app may run in the background."""
    from threading import Event

    try:
        for _ in sys.stdin:
            click.echo(another_link())
        Event().wait()
    except KeyboardInterrupt:
        pass
