"""One committed trial of a run folder."""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from harness.errors import ResultsError
from harness.results.storage import parsed, read_checked
from harness.score import Scorecard
from harness.trace import Span, Trial

END_STATE = "end_state.tar"

TrialKey = tuple[str, int]
"""Case id and attempt."""

_Document = TypeVar("_Document", Trial, Scorecard)


@dataclass(frozen=True, kw_only=True)
class StoredTrial:
    """A committed trial; its spans are read on first access."""

    trial: Trial
    folder: Path

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans of the trial."""
        path = self.folder / "spans.jsonl"
        lines = read_checked(self.folder, path.name).splitlines()
        return tuple(parsed(path, line, Span) for line in lines)

    @property
    def end_state(self) -> Path | None:
        """The archive of the files that the agent changed; None where none was stored."""
        path = self.folder / END_STATE
        return path if path.exists() else None


def commit_times(trials: Path, keys: Iterable[TrialKey]) -> dict[TrialKey, int]:
    """The time of the commit of those that are there: nanoseconds since the epoch."""
    found: dict[TrialKey, int] = {}
    for case_id, attempt in keys:
        try:
            seen = os.lstat(f"{trials}/{case_id}/{attempt}")
        except OSError:
            continue
        if stat.S_ISDIR(seen.st_mode):
            found[case_id, attempt] = seen.st_mtime_ns
    return found


def set_failed_aside(target: Path) -> None:
    """Renames a trial that the harness could not finish, so that the second try takes its place."""
    if not target.exists():
        return
    if first_scorecard(target).outcome != "harness_failed":
        raise ResultsError(f"{target} is already committed", remedy="a finished trial is never overwritten")
    number = 1
    while (aside := target.with_name(f"{target.name}.failed-{number}")).exists():
        number += 1
    target.rename(aside)


def stored_trial(folder: Path) -> StoredTrial:
    """The trial in the folder; raises ResultsError naming a damaged file."""
    return StoredTrial(trial=_own(folder, "trial.json", Trial), folder=folder)


def first_scorecard(folder: Path) -> Scorecard:
    """The scorecard that the trial was committed with; raises ResultsError naming a damaged file."""
    return _own(folder, "scorecard.json", Scorecard)


def key_of(folder: Path) -> TrialKey:
    """Which trial the folder `<case>/<attempt>` holds."""
    return folder.parent.name, int(folder.name)


def _own(folder: Path, name: str, shape: type[_Document]) -> _Document:
    """A document that belongs to the folder's trial: its case becomes part of paths, and may be a path itself."""
    found = parsed(folder / name, read_checked(folder, name), shape)
    if (found.case_id, str(found.attempt)) != (folder.parent.name, folder.name):
        raise ResultsError(
            f"{folder / name} is of another trial: {found.case_id[:100]!r} attempt {found.attempt}",
            remedy="the run folder is damaged: run again under another name",
        )
    return found
