"""What is asked of an attribution by intervention, and its answer."""

from dataclasses import dataclass, field

from harness.case import ToolMode
from harness.errors import UsageError
from harness.pipeline import RunOptions
from harness.trace import Trial
from harness.values import Frozen

BUDGET = 40
"""Trials that are run at most, where no budget is set: those that search, and those that confirm."""


@dataclass(frozen=True, kw_only=True)
class BlameRequest:
    """How the cause is searched for."""

    options: RunOptions = field(default_factory=RunOptions)
    tools: ToolMode | None = None
    budget: int = BUDGET
    repeats: int = 3
    """How often the change that is found, and no change, are tried."""
    passing: Trial | None = None
    """A trial of the same case that succeeded; None: none is known."""
    name: str | None = None

    def __post_init__(self) -> None:
        least = self.confirming + 1
        if self.repeats < 1 or self.budget < least:
            raise UsageError(
                f"a budget of {self.budget} trials is not enough for {self.repeats} repeats: {self.confirming} confirm"
                " a cause, and at least one searches for it",
                remedy=f"--budget {least}, or more; or --repeats 1, which confirms nothing",
            )

    @property
    def confirming(self) -> int:
        """Trials that confirm a cause: the change again, and as many without a change as with it."""
        return 2 * self.repeats - 1 if self.repeats > 1 else 0


class CandidateChange(Frozen):
    """One change, and what came of it."""

    step: int
    origin: str
    kind: str
    words: str
    outcome: str
    """Of the trial; `not_tried` where the budget was spent."""
    success: bool | None = None


class BlamedCause(Frozen):
    """What made the trial fail, as far as interventions can tell."""

    steps: tuple[int, ...]
    """The steps that have to be changed; one for a single cause."""
    kinds: tuple[str, ...]
    words: str
    mended: int
    """Repeats in which the change made the trial succeed."""
    repeats: int
    unchanged_successes: int
    """Repeats without a change that succeeded: what chance alone does."""
    confidence: float
    """Lower end of the Wilson interval of the change's success, times the share of unchanged repeats that failed."""
    untried_earlier: tuple[int, ...] = ()
    """Steps before it with a change that was not tried: with any, an earlier cause is not excluded."""
    untried_sets: int = 0
    """Smaller sets that the budget left untried: with any, the set may be larger than needed."""


class Blame(Frozen):
    """The answer of `harness blame`."""

    trial: str
    tools: ToolMode
    basis: tuple[str, ...]
    """What the candidates come from."""
    cause: BlamedCause | None
    """None: no change that was tried makes the trial succeed; see `reason`."""
    reason: str | None = None
    candidates: tuple[CandidateChange, ...]
    guesses: tuple[int, ...]
    """The steps that the detectors name, which read the log and try nothing."""
    trials: int
    """Trials that were run."""
    run: str | None = None
    """The fork that succeeds, as other verbs take it."""
    symptom: str
    """How the failure shows: the first failed check."""
