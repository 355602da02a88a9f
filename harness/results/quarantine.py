"""The quarantine of a run, stored next to its manifest: cases that flipped without a change in earlier runs."""

from pydantic import Field, model_validator

from harness.documents import write_atomically
from harness.results.folder import RunFolder
from harness.results.storage import json_bytes, read_as
from harness.values import Frozen

_QUARANTINE = "quarantine.json"


class QuarantinedCase(Frozen):
    """A flaky case and its results in earlier runs."""

    case_id: str
    failures: int = Field(ge=0)
    """Trials that failed, of `trials`."""
    trials: int = Field(ge=1)
    """Trials in the states in which it flipped, without states in which it failed more than its flips explain."""
    agreeing: int
    """Number of latest consecutive trials with the same result."""
    leaves_after: int
    """Number of consecutive trials with the same result after which the case leaves quarantine."""
    attempts: int
    """In this run: if all of them fail, its flips do not explain it."""
    level: float
    """At which a loss is told from a flip: 5 % for all cases in quarantine together."""

    @model_validator(mode="after")
    def _fails_at_most_always(self) -> "QuarantinedCase":
        if self.failures > self.trials:
            raise ValueError(f"{self.failures} failures of {self.trials} trials")
        return self


class Quarantine(Frozen):
    """The quarantine that a run began with."""

    usual_attempts: int
    """At a case that is not in quarantine."""
    cases: tuple[QuarantinedCase, ...]


def write_quarantine(folder: RunFolder, quarantine: Quarantine) -> None:
    """Stores the quarantine of a run that begins."""
    write_atomically(folder.path / _QUARANTINE, json_bytes(quarantine))


def quarantine_of(folder: RunFolder) -> Quarantine | None:
    """The quarantine of a stored run; None: it was run without."""
    path = folder.path / _QUARANTINE
    return read_as(path, Quarantine) if path.exists() else None
