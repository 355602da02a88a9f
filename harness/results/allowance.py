"""The allowed number of inconclusive trials. It is not in the manifest, because a resumed run may change it."""

from pydantic import Field

from harness.documents import write_atomically
from harness.results.folder import RunFolder
from harness.results.storage import json_bytes, read_as
from harness.values import Frozen

_ALLOWANCE = "allowance.json"


class Allowance(Frozen):
    """The limit of `--max-inconclusive` or the suite's gates."""

    max_inconclusive: int = Field(ge=0)


def write_allowance(folder: RunFolder, max_inconclusive: int) -> None:
    """Stores the number of trials that may have a replay miss before the run exits 1; an earlier number is replaced."""
    path = folder.path / _ALLOWANCE
    if max_inconclusive:
        write_atomically(path, json_bytes(Allowance(max_inconclusive=max_inconclusive)))
    else:
        path.unlink(missing_ok=True)


def allowed_inconclusive(folder: RunFolder) -> int:
    """The stored number; 0 where there is none."""
    path = folder.path / _ALLOWANCE
    return read_as(path, Allowance).max_inconclusive if path.exists() else 0
