"""Whether the replay of a recorded command was complete and equal, and what differs where it was not."""

from dataclasses import dataclass

from harness.pipeline.determinism import divergences
from harness.results import StoredTrial
from harness.trace import MEASURED, EndState
from harness.values import canonical_json

_SHOWN = 5
_LONG = 300
_OWN_FOLDER = "/harness-"


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """The replayed trial beside the recorded one."""

    trial: StoredTrial
    complete: bool
    """Whether every call was answered by a recording."""
    differences: tuple[str, ...]
    """What differs, in words; empty where the replay is equal."""
    misses: tuple[str, ...]
    """Calls that met no recording."""
    names_own_folder: bool = False
    """Whether a call without a recording holds the path of a folder that exists for one trial only."""

    @property
    def equal(self) -> bool:
        return self.complete and not self.differences


def compared(recorded: StoredTrial, replayed: StoredTrial) -> Replayed:
    """The replay held against the recording: outcome, steps, files, output."""
    before, after = recorded.trial, replayed.trial
    misses = [canonical_json(miss) for miss in after.misses]
    complete = not after.misses and after.outcome in MEASURED
    found: list[str] = []
    if before.outcome != after.outcome:
        found.append(f"it ended as {after.outcome}: {after.reason}" if after.reason else f"it ended as {after.outcome}")
    if complete:
        second = after.model_copy(update={"attempt": before.attempt + 1})
        for one in divergences([before, second]):
            where = "what it printed" if one.step is None else f"step {one.step + 1}"
            found.append(f"{where}: recorded {one.before}, replayed {one.after}")
        found += _changed_files(before.end_state, after.end_state)
    return Replayed(
        trial=replayed,
        complete=complete,
        differences=tuple(found),
        misses=tuple(miss[:_LONG] for miss in misses[:_SHOWN]),
        names_own_folder=any(_OWN_FOLDER in miss for miss in misses),
    )


def _changed_files(before: EndState | None, after: EndState | None) -> list[str]:
    old = {} if before is None else {change.path: change for change in before.changes}
    new = {} if after is None else {change.path: change for change in after.changes}
    paths = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
    if not paths:
        return []
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return [f"files: {', '.join(paths[:_SHOWN])}{more}"]
