"""One committed trial of a run folder, as it is read back."""

from dataclasses import dataclass
from pathlib import Path

from harness.results.storage import parsed, read_checked
from harness.score import Scorecard
from harness.trace import Span, Trial

END_STATE = "end_state.tar"

TrialKey = tuple[str, int]
"""Case id and attempt."""


@dataclass(frozen=True, kw_only=True)
class StoredTrial:
    """A committed trial; its spans are read on first access."""

    trial: Trial
    folder: Path

    @property
    def spans(self) -> tuple[Span, ...]:
        """Everything that crossed the gateway."""
        path = self.folder / "spans.jsonl"
        lines = read_checked(self.folder, path.name).splitlines()
        return tuple(parsed(path, line, Span) for line in lines)

    @property
    def end_state(self) -> Path | None:
        """The archive of the files that the agent changed; None where none was stored."""
        path = self.folder / END_STATE
        return path if path.exists() else None


def first_scorecard(folder: Path) -> Scorecard:
    """The scorecard that the trial was committed with; raises ResultsError naming a damaged file."""
    path = folder / "scorecard.json"
    return parsed(path, read_checked(folder, path.name), Scorecard)


def key_of(folder: Path) -> TrialKey:
    """Which trial the folder `<case>/<attempt>` holds."""
    return folder.parent.name, int(folder.name)
