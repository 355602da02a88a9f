"""Consoles: results on standard output, progress on standard error, JSON for scripts."""

import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment

from harness.cli.streams import drawn_to
from harness.text import visible

_NARROWEST = 60
"""Minimum width of tables in columns; a narrower terminal wraps the lines."""
_WITHOUT_TERMINAL = 100


class _CleanConsole(Console):
    """Renders text without control characters; its own colours and cursor movements are not part of the text.

    Markup, links and emoji codes are disabled: rich would otherwise interpret text of an agent as markup.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of `renderable`."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def out(quiet: bool = False) -> Console:
    """The console for standard output, as plain text without colours where it is not a terminal; `quiet` selects
    standard error instead.
    """
    return err() if quiet else _console(sys.stdout.isatty(), stderr=False)


def err() -> Console:
    """The console for standard error, which shows progress."""
    return _console(sys.stderr.isatty(), stderr=True)


def say(text: str) -> None:
    """Prints a line of progress on standard error."""
    click.echo(text, err=True)


def print_json(value: object) -> None:
    """Prints one JSON document on standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_json_list(values: Iterable[object]) -> None:
    """As `print_json`, one value at a time."""
    between = "["
    for value in values:
        text = json.dumps(value, indent=2, ensure_ascii=False).replace("\n", "\n  ")
        click.echo(f"{between}\n  {text}", nl=False)
        between = ","
    click.echo("[]" if between == "[" else "\n]")


class Tally:
    """How far a run is: trials that ended, those that failed, and an estimate of the time left."""

    def __init__(self, title: str, total: int) -> None:
        self._title, self._total, self._ended, self._failed = title, total, 0, 0
        self._began = time.monotonic()
        columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), MofNCompleteColumn())
        note = TextColumn("{task.fields[note]}", style="dim", markup=False)
        self._bar = Progress(
            *columns, TimeElapsedColumn(), note, console=err(), transient=True, disable=not sys.stderr.isatty()
        )
        self._task = self._bar.add_task(title, total=total, note="")

    def say(self, text: str) -> None:
        """A line above the bar."""
        self._bar.console.print(text)

    def count(self, *, failed: bool) -> None:
        self._ended += 1
        self._failed += failed
        self._bar.update(self._task, advance=1, note=self._note)

    @contextmanager
    def shown(self, each_s: float = 10.0) -> Iterator["Tally"]:
        """A bar on a terminal; elsewhere a line each ten seconds on standard error."""
        over = threading.Event()
        lines = threading.Thread(target=self._lines, args=(over, each_s), daemon=True)
        with self._bar:
            if self._bar.disable:
                lines.start()
            try:
                yield self
            finally:
                over.set()

    def _lines(self, over: threading.Event, each_s: float) -> None:
        while not over.wait(each_s):
            say(f"{self._title}: {self._ended} of {self._total} trials, {self._note}")

    @property
    def _note(self) -> str:
        """The estimate takes what trials took until now, so that parallel trials and pauses are in it."""
        words = f"{self._failed} failed"
        if not 0 < self._ended < self._total:
            return words
        left = (time.monotonic() - self._began) / self._ended * (self._total - self._ended)
        return f"{words}, about {timedelta(seconds=round(left))} left"


def _console(is_terminal: bool, stderr: bool) -> Console:
    width = None if is_terminal else _WITHOUT_TERMINAL
    file = drawn_to(sys.stderr if stderr else sys.stdout)
    console = _CleanConsole(file=file, stderr=stderr, width=width, highlight=False, markup=False, emoji=False)
    console.width = max(console.width, _NARROWEST)
    return console
