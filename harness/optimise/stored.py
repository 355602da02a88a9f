"""An optimisation's run folder: `runs/<name>/` with its request, its journal, its candidates and its outcome."""

from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from harness.alternatives import alternatives
from harness.case import ToolMode
from harness.documents import first_words, write_atomically
from harness.errors import ResultsError, UsageError
from harness.optimise.candidates.candidate import Candidate, read_candidate
from harness.optimise.candidates.components import Component
from harness.optimise.outcome import Mode, OptimisationOutcome
from harness.optimise.searching.lineage import CandidateRecord, read_records
from harness.plain_files import UnusableEntry, check_entries, read_plain_file
from harness.results import RunUsers
from harness.values import Frozen, digest_of

_ASKED: Final = "optimisation.json"
_OUTCOME: Final = "outcome.json"

Stored = TypeVar("Stored", bound=Frozen)


class AskedOptimisation(Frozen):
    """What an optimisation was asked to do; a run folder goes on only with the same."""

    suite: str
    suite_digest: str
    """Of cases, tools and checks."""
    agent: str
    agent_digest: str
    """Of all files of the agent that no candidate changes."""
    start: str
    """The candidate in use."""
    mode: Mode
    component: str | None
    components: tuple[Component, ...]
    """Those whose texts are revised."""
    rubric: str
    rubric_digest: str
    optimiser: str
    reflector: str
    """Its model, or the digest of its rules."""
    rollouts: int
    minibatch: int
    noise_samples: int
    seed: int
    max_cost_increase: float
    cases: tuple[str, ...]
    invocations: str | None = None
    """Digest of the invocations that agent mode replays."""
    tools: ToolMode | None = None
    """Who answers the tools' calls in rollouts."""
    users: RunUsers | None = None
    """Who plays the users in joint mode; None: all of them are scripts."""
    judge: str | None = None
    """The model that judges, with a digest of its prompt and sampling; None: code judges."""

    @property
    def default_name(self) -> str:
        """The same request has the same name, so that repeating the command continues it."""
        what = self.component or "joint"
        return f"optimise-{self.suite}-{what}-{digest_of(self)[:8]}"


class StoredOptimisation:
    """Reads and writes the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check(self, asked: AskedOptimisation) -> None:
        """Raises UsageError where the folder holds another request, and says what differs."""
        if not self.exists:
            return
        there = self.asked
        differing = [name for name in AskedOptimisation.model_fields if getattr(there, name) != getattr(asked, name)]
        if differing:
            raise UsageError(
                f"{self.folder} holds another optimisation: {', '.join(differing)} differ",
                remedy="give this one another --run-name",
            )

    def begin(self, asked: AskedOptimisation) -> None:
        """Writes what is asked, where it is not there yet. Raises as `check` does."""
        self.check(asked)
        if self.exists:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.folder / _ASKED, asked.model_dump_json(indent=2).encode() + b"\n")

    def finish(self, outcome: OptimisationOutcome) -> None:
        """Writes the outcome."""
        write_atomically(self.folder / _OUTCOME, outcome.model_dump_json(indent=2).encode() + b"\n")

    @property
    def exists(self) -> bool:
        """Whether an optimisation was begun in the folder."""
        return (self.folder / _ASKED).is_file()

    @property
    def asked(self) -> AskedOptimisation:
        """Raises UsageError where the folder holds no optimisation."""
        if not self.exists:
            raise UsageError(
                f"{self.folder} holds no optimisation", remedy="name a run that `harness optimise` made in runs/"
            )
        try:
            check_entries(self.folder)
        except UnusableEntry as error:
            raise ResultsError(f"{error}; an optimisation consists of plain files and folders") from None
        return _read(self.folder / _ASKED, AskedOptimisation)

    @property
    def outcome(self) -> OptimisationOutcome | None:
        """None: it has not ended."""
        path = self.folder / _OUTCOME
        return _read(path, OptimisationOutcome) if path.exists() else None

    @property
    def records(self) -> dict[str, CandidateRecord]:
        """By candidate, the texts in use first. Raises ResultsError."""
        return read_records(self.folder)

    def candidate(self, id: str) -> Candidate:
        """Raises UsageError for one that is not there, ResultsError for a damaged one."""
        if id not in self.records:
            remedy = alternatives(id, self.records)
            raise UsageError(f"{self.folder} has no candidate {id!r}", remedy=remedy)
        return read_candidate(self.folder / "candidates" / id)


def _read(path: Path, shape: type[Stored]) -> Stored:
    try:
        return shape.model_validate_json(read_plain_file(path))
    except OSError as error:
        raise ResultsError(f"{path} cannot be read: {error}") from None
    except ValidationError as error:
        field, problem = first_words(error)
        raise ResultsError(f"{path} cannot be read: field {field!r}: {problem}") from None
