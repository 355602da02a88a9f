"""Causes that interventions found, stored in the run folder: `causes/<case>.<attempt>.json`."""

from pathlib import Path

from pydantic import Field

from harness.disk import make_folder
from harness.documents import write_atomically
from harness.errors import ResultsError, UsageError
from harness.results.folder import RunFolder
from harness.results.storage import json_bytes, read_as
from harness.trace import Trial
from harness.values import Frozen

_FOLDER = "causes"


class KeptCause(Frozen):
    """The result of `harness blame` for one trial."""

    case_id: str
    attempt: int
    symptom: str
    """The first failed check."""
    steps: tuple[int, ...]
    """Those that had to be changed; one for a single cause."""
    kinds: tuple[str, ...]
    words: str
    mended: int
    """Repeats in which the change made the trial succeed, of `repeats`."""
    repeats: int
    confidence: float
    fork: str | None = Field(default=None, pattern=r"^\.variants/[A-Za-z0-9][A-Za-z0-9._-]{0,119}$")
    """The run folder of the fork that succeeds, beside the run's own; None: it was not kept."""


def keep_cause(folder: RunFolder, case_id: str, attempt: int, cause: KeptCause | None) -> None:
    """Stores the newest result for a trial; None: no cause was found, and an earlier one is removed."""
    path = _path(folder, case_id, attempt)
    if cause is None:
        path.unlink(missing_ok=True)
        return
    make_folder(path.parent)
    write_atomically(path, json_bytes(cause))


def cause_of(folder: RunFolder, case_id: str, attempt: int) -> KeptCause | None:
    """The stored cause of a trial; None: none was found or searched."""
    path = _path(folder, case_id, attempt)
    return read_as(path, KeptCause) if path.exists() else None


def fork_of(folder: RunFolder, cause: KeptCause) -> Trial | None:
    """The trial that succeeds with the change; None where its run is not there any more."""
    if cause.fork is None:
        return None
    try:
        return RunFolder.open(folder.path.parent / cause.fork).trial(cause.case_id, 1)
    except (ResultsError, UsageError):
        return None


def _path(folder: RunFolder, case_id: str, attempt: int) -> Path:
    return folder.path / _FOLDER / f"{case_id}.{attempt}.json"
