"""What an optimisation found, and the run folder that it is stored in."""

from pathlib import Path
from typing import Final, Literal

from pydantic import model_validator

from harness.disk import UnusableEntry, check_entries, write_atomically
from harness.errors import ResultsError, UsageError
from harness.improve.acceptance import HeldOut, ValidationChoice
from harness.improve.candidates import Candidate, Component, read_candidate
from harness.improve.lineage import CandidateRecord, parsed_file, read_records
from harness.improve.rollouts import Spent
from harness.runs.store.manifest import RunUsers
from harness.suite.models import ToolMode
from harness.text import alternatives
from harness.values import Frozen, digest_of

Mode = Literal["agent", "joint"]


class CurvePoint(Frozen):
    """The best candidate on validation after so many rollouts, and its held-out score."""

    rollouts: int
    candidate: str
    validation: float
    held_out: float | None
    """None: not examined."""


class Pruning(Frozen):
    """What is left of the changes of a pick, after those were reverted that gained nothing."""

    candidate: str
    """The smaller candidate; the pick itself if nothing was reverted."""
    changes: int
    """Changed lines of the pick."""
    kept: int
    rollouts: int
    """Asked for beside the pick's validation."""
    out_of_rollouts: bool = False
    """Whether a change was kept because no rollouts were left to try the texts without it."""


class OptimiserResult(Frozen):
    """One optimiser's share."""

    optimiser: str
    candidates: int
    """Validated, without the texts in use."""
    rollouts: int
    """Asked for, cached ones included."""
    pick: ValidationChoice
    pruning: Pruning | None = None
    """None: nothing was picked, or another optimiser's pick counts."""
    held_out: HeldOut | None = None
    """Of the pick, or of what pruning left of it. None: nothing was picked."""
    curve: tuple[CurvePoint, ...] = ()

    @property
    def final(self) -> str | None:
        """The candidate that the held-out cases had to confirm."""
        return self.pick.candidate if self.pruning is None else self.pruning.candidate


class OptimisationOutcome(Frozen):
    """The result; `accepted` None is a result too: no better prompt was found."""

    suite: str
    mode: Mode
    component: str | None
    optimiser: str
    """Whose pick is taken; the others are reported beside it."""
    start: str
    """The candidate in use."""
    accepted: str | None
    why: str
    results: tuple[OptimiserResult, ...]
    noise_margin: float
    """Of the validation score: what judge and simulator alone may change it by."""
    noise_samples: int
    cases: tuple[int, int, int]
    """Training, validation, held out."""
    looks_before: int
    """Earlier optimisations that examined the held-out cases."""
    held_out_digest: str
    refusals: tuple[str, ...] = ()
    """Why proposals became no candidate."""
    spent: Spent
    calls: int
    """Rollouts and revisions of this session; 0 if everything was cached."""

    @model_validator(mode="after")
    def _has_a_share_of_its_optimiser(self) -> "OptimisationOutcome":
        if all(one.optimiser != self.optimiser for one in self.results):
            raise ValueError(f"`results` has no share of the optimiser {self.optimiser!r}")
        return self

    @property
    def result(self) -> OptimiserResult:
        """The share of the optimiser whose pick counts."""
        return next(one for one in self.results if one.optimiser == self.optimiser)


_ASKED: Final = "optimisation.json"
_OUTCOME: Final = "outcome.json"


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
    checks: float = 0.5
    """Weight of the suite's checks in the objective."""
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
        """Raises UsageError if the folder holds another request, and says what differs."""
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
        """Writes what is asked, if it is not there yet. Raises as `check` does."""
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
        """Raises UsageError if the folder holds no optimisation."""
        if not self.exists:
            raise UsageError(
                f"{self.folder} holds no optimisation", remedy="name a run that `harness optimise` made in runs/"
            )
        try:
            check_entries(self.folder)
        except UnusableEntry as error:
            raise ResultsError(f"{error}; an optimisation consists of plain files and folders") from None
        return parsed_file(self.folder / _ASKED, AskedOptimisation)

    @property
    def outcome(self) -> OptimisationOutcome | None:
        """None: it has not ended."""
        path = self.folder / _OUTCOME
        return parsed_file(path, OptimisationOutcome) if path.exists() else None

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
