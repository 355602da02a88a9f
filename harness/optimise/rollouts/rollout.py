"""A rollout: one case run under one candidate, and scored; and the seam to whatever runs it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from pydantic import Field

from harness.optimise.candidates.candidate import Candidate
from harness.values import Frozen


class Rollout(Frozen):
    """One case under one candidate."""

    case: str
    """Id of the case; in agent mode each invocation belongs to the case that it was cut out of."""
    candidate: str
    """Id of the candidate."""
    domains: Mapping[str, float | None]
    """Domain of the rubric -> score from 0 to 1; None: it could not be determined. All None: no measurement, which
    counts neither for nor against the candidate."""
    vetoes: tuple[str, ...] = ()
    """What no candidate may do more often than the texts in use: failed critical criteria and forbidden effects, by
    name, one entry for each occurrence."""
    feedback: str = ""
    """What a reflector is told: step, criterion, failure mode and dependent steps of each failure."""
    steps: int = Field(default=0, ge=0)
    cost_usd: float | None = None
    """None: the price is not known."""
    tokens: int | None = None
    calls: int = Field(default=0, ge=0)
    """Requests that were really sent to models and services; replayed answers are none."""
    texts_read: tuple[str, ...] | None = None
    """The candidate's files that the agent's program had opened by the end of this rollout, in it or in one before or
    beside it; None: that was not observed."""


class Rollouts(Protocol):
    """Runs cases under a candidate."""

    def run(
        self, candidate: Candidate, cases: Sequence[str], *, component: str | None, sample: int = 0
    ) -> Iterable[Rollout]:
        """One rollout for each case, in any order: each is given as soon as it has ended, because it is kept then.

        `component` is the sub-agent whose invocations are replayed alone; None: whole trials. A `sample` above 0 asks
        for a new run of the same: no answer of the judge, the simulator or the model is reused from another sample, so
        that their noise shows.

        What the agent does wrong is a score. A case that the harness could not run gets domains that are all None.
        OutOfBudget and errors of the set-up are raised, after the rollouts that had begun are given.
        """
        ...
