"""Which trials of a run are in flight, for those who watch it: `in_flight.json` in its folder, while trials run.

It is written for the moment and not flushed to disk, and removed when the last trial has ended. Only a run that is
being written has trials in flight: what a killed harness left behind is ignored.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Final

from harness.errors import ResultsError
from harness.process_identity import partial_name
from harness.results.storage import json_bytes, read_as
from harness.trace import TrialProgress
from harness.values import Frozen

_FILE: Final = "in_flight.json"
_EVERY_S: Final = 1.0


class InFlight(Frozen):
    """The content of the file."""

    trials: tuple[TrialProgress, ...] = ()


@contextmanager
def shown_in_flight(run: Path, trials: Callable[[], Sequence[TrialProgress]]) -> Iterator[None]:
    """Writes the file once a second where something changed, from a thread of its own, while the context is entered."""
    over = Event()
    thread = Thread(target=_write_all, args=(run / _FILE, trials, over), name="in-flight", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        (run / _FILE).unlink(missing_ok=True)


def in_flight(run: Path) -> tuple[TrialProgress, ...]:
    """The trials that are in flight; none where the file is missing or damaged, because it only informs."""
    path = run / _FILE
    try:
        return read_as(path, InFlight).trials if path.exists() else ()
    except ResultsError:
        return ()


def _write_all(path: Path, trials: Callable[[], Sequence[TrialProgress]], over: Event) -> None:
    written: tuple[TrialProgress, ...] = ()
    while not over.wait(_EVERY_S):
        now = tuple(trials())
        if now == written:
            continue
        temporary = path.with_name(partial_name(path.name))
        try:
            temporary.write_bytes(json_bytes(InFlight(trials=now)))
            temporary.replace(path)
            written = now
        except OSError:  # a full disk ends the run where it matters, not here
            temporary.unlink(missing_ok=True)
