"""The reason why a run ended before its plan was complete; stored beside the manifest, which describes the plan."""

from pathlib import Path

from harness.documents import write_atomically
from harness.results.folder import RunFolder
from harness.results.storage import json_bytes, read_as
from harness.values import Frozen

_STOP = "stopped.json"
_REQUEST = "stop_requested"


class Stop(Frozen):
    """`reason` in words, for example "budget: 12 of 10 USD spent"."""

    reason: str
    decided: bool = False
    """Whether a sequential test ended the run: the trials that it left out are not missing."""


def write_stop(folder: RunFolder, stop: Stop | None) -> None:
    """Stores why the run stopped; None removes the reason of an earlier part of a resumed run."""
    path = folder.path / _STOP
    if stop is None:
        path.unlink(missing_ok=True)
    else:
        write_atomically(path, json_bytes(stop))


def stop_reason(folder: RunFolder) -> str | None:
    """The reason alone; see `stop_of`."""
    stop = stop_of(folder)
    return None if stop is None else stop.reason


def stop_of(folder: RunFolder) -> Stop | None:
    """Why the run stopped early; None: it did not, or was killed."""
    path = folder.path / _STOP
    return read_as(path, Stop) if path.exists() else None


def request_stop(run: Path) -> None:
    """Asks the harness that writes the run folder to start no further trial; those in flight end and are stored."""
    write_atomically(run / _REQUEST, b"")


def stop_requested(folder: RunFolder) -> bool:
    """Whether a person asked for it since the run was begun or resumed."""
    return (folder.path / _REQUEST).exists()


def withdraw_stop(folder: RunFolder) -> None:
    """Removes the request of an earlier part of a resumed run."""
    (folder.path / _REQUEST).unlink(missing_ok=True)
