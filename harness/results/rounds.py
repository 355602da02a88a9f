"""The rounds in which `--trials auto` chose the trials of a run: a resumed run counts complete rounds alone, as the
first part did.
"""

from collections.abc import Sequence

from harness.documents import write_atomically
from harness.results.folder import RunFolder
from harness.results.manifest import PlannedTrial
from harness.results.storage import json_bytes, read_as
from harness.results.stored import TrialKey
from harness.values import Frozen

_ROUNDS = "rounds.json"

Round = tuple[TrialKey, ...]
"""The trials that were chosen together."""


class _StoredRounds(Frozen):
    rounds: tuple[tuple[PlannedTrial, ...], ...]


def write_rounds(folder: RunFolder, rounds: Sequence[Round]) -> None:
    """Stores all rounds that were chosen so far, the first one first."""
    stored = tuple(tuple(PlannedTrial(case_id=case, attempt=attempt) for case, attempt in one) for one in rounds)
    write_atomically(folder.path / _ROUNDS, json_bytes(_StoredRounds(rounds=stored)))


def rounds_of(folder: RunFolder) -> tuple[Round, ...] | None:
    """The stored rounds; None: the run's trials were not chosen in rounds, or by a version that stored none."""
    path = folder.path / _ROUNDS
    if not path.exists():
        return None
    return tuple(tuple((one.case_id, one.attempt) for one in found) for found in read_as(path, _StoredRounds).rounds)
