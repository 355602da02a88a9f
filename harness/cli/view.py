"""Implements `harness view`."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import open_option, page_port_option

if TYPE_CHECKING:
    from harness.reports.pages.request import PageSet


_PAGES = (
    "harness.reports.pages.runs:PAGES",
    "harness.reports.pages.found:PAGES",
    "harness.reports.pages.run:PAGES",
    "harness.reports.pages.trial:PAGES",
    "harness.reports.pages.compare:PAGES",
    "harness.reports.pages.trend:PAGES",
    "harness.reports.pages.annotate:PAGES",
    "harness.reports.pages.questions:PAGES",
    "harness.reports.pages.blind:PAGES",
    "harness.reports.pages.cassettes:PAGES",
    "harness.reports.pages.misses:PAGES",
    "harness.drift.pages:PAGES",
    "harness.production.pages:PAGES",
    "harness.production.pages:SESSION_PAGES",
    "harness.production.theme_pages:PAGES",
    "harness.improve.pages:PAGES",
    "harness.reports.pages.variants:PAGES",
)
"""The pages of the app in the order of the navigation; each stands in the room whose data it shows."""


def app_pages() -> "tuple[PageSet, ...]":
    """Every page of the app."""
    places = (place.split(":") for place in _PAGES)
    return tuple(getattr(import_module(module), name) for module, name in places)


@click.command("view")
@click.argument("folder", required=False, type=click.Path(exists=True, path_type=Path))
@page_port_option
@open_option
@click.pass_obj
def command(project: Path, /, folder: Path | None, port: int, opens: bool) -> None:
    """Show all runs of a project in a web app, which this machine alone can open.

    \b
    harness view
    harness view path/to/project --port 8123 --no-open
    harness view RUN.zip                       runs that CI kept, or that somebody sent

    FOLDER is the project; without it, the one of `--project`. A zip file of runs is unpacked for as long as the app is
    open; nothing in it is believed, and no link in it is followed. The printed link opens one browser, once; Enter
    prints another. Ctrl-C ends the app. It changes nothing but labels, and can ask a run in flight to stop.
    """
    place = folder or project
    if place.is_dir():
        serve_app(place, port, opens=opens)
        return
    from tempfile import TemporaryDirectory

    from harness.runs.store.archive import unpack_runs

    with TemporaryDirectory(prefix="harness-view-") as unpacked:
        names = unpack_runs(place, Path(unpacked) / "runs")
        serve_app(Path(unpacked), port, opens=opens, start=f"/runs/{names[0]}" if len(names) == 1 else "/")


def serve_app(project: Path, port: int, *, opens: bool, start: str = "/") -> None:
    """Serves the app until Ctrl-C; its links lead to the page `start`."""
    from contextlib import suppress

    from harness.reports.pages.server import ViewServer

    with suppress(KeyboardInterrupt), ViewServer(project.resolve(), app_pages(), port, start) as server:
        click.echo(server.url)
        click.echo("open this link in a browser, once; Enter prints another link, Ctrl-C ends the app", err=True)
        if opens:
            click.launch(server.url)
        _serve(server.another_link)


def _serve(another_link: Callable[[], str]) -> None:
    """Until Ctrl-C, which is no error; a closed input ends nothing, because the app may run in the background."""
    from threading import Event

    for _ in sys.stdin:
        click.echo(another_link())
    Event().wait()
