"""What an optimisation found, as it is stored in its folder."""

from typing import Literal

from pydantic import model_validator

from harness.optimise.acceptance import HeldOut, ValidationChoice
from harness.optimise.rollouts.spending import Spent
from harness.values import Frozen

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
    """The smaller candidate; the pick itself where nothing was reverted."""
    changes: int
    """Changed lines of the pick."""
    kept: int
    rollouts: int
    """Asked for, cached ones included."""


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
    """Rollouts and revisions of this session; 0 where everything was cached."""

    @model_validator(mode="after")
    def _has_a_share_of_its_optimiser(self) -> "OptimisationOutcome":
        if all(one.optimiser != self.optimiser for one in self.results):
            raise ValueError(f"`results` has no share of the optimiser {self.optimiser!r}")
        return self

    @property
    def result(self) -> OptimiserResult:
        """The share of the optimiser whose pick counts."""
        return next(one for one in self.results if one.optimiser == self.optimiser)
