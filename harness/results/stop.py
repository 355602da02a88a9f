"""The reason why a run ended before its plan was complete; stored beside the manifest, which describes the plan."""

from harness.documents import write_atomically
from harness.results.folder import RunFolder
from harness.results.storage import json_bytes, read_as
from harness.values import Frozen

_STOP = "stopped.json"


class Stop(Frozen):
    """`reason` in words, for example "budget: 12 of 10 USD spent"."""

    reason: str


def write_stop(folder: RunFolder, reason: str | None) -> None:
    """Stores the reason why the run stopped; None removes the reason of an earlier part of a resumed run."""
    path = folder.path / _STOP
    if reason is None:
        path.unlink(missing_ok=True)
    else:
        write_atomically(path, json_bytes(Stop(reason=reason)))


def stop_reason(folder: RunFolder) -> str | None:
    """Why the run stopped early; None: it did not, or was killed."""
    path = folder.path / _STOP
    return read_as(path, Stop).reason if path.exists() else None
