"""How much an optimisation takes at least and at most, worked out from counts of cases and texts before it begins."""

import math

from harness.errors import UsageError
from harness.optimise.rollouts.spending import SearchBudget
from harness.optimise.searching.splitting import CaseSplit
from harness.values import Frozen

LEAST_REVISIONS = 8
"""For each text that is revised apart from others."""
_MOST_CASES, _FEWEST_CASES = 8, 3


class LeastUse(Frozen):
    """What is used at least; 0: nothing is known to be used."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0

    def __add__(self, other: "LeastUse") -> "LeastUse":
        return LeastUse(usd=self.usd + other.usd, tokens=self.tokens + other.tokens, calls=self.calls + other.calls)

    def times(self, count: int) -> "LeastUse":
        """Of so many."""
        return LeastUse(usd=count * self.usd, tokens=count * self.tokens, calls=count * self.calls)


class RolloutDemand(Frozen):
    """What one rollout and one request to the reflector use at least, and how many revisions are wanted."""

    rollout: LeastUse = LeastUse(calls=1)
    """The texts of the component that answers the user are sent once, in one request; nothing without a model."""
    request: LeastUse = LeastUse(calls=1)
    """The shortest text is sent and answered once; nothing where rules revise texts."""
    revisions: int = LEAST_REVISIONS
    """Of each optimiser, before a search can be expected to find anything: `LEAST_REVISIONS` for each text that is
    revised apart from others; where rules revise texts, one for each edit that they know, where these are more."""


def minibatch_of(rollouts: int, split: CaseSplit, wanted: int) -> int:
    """The number of training cases that a revision is tried on, where none is asked for: eight at most and three at
    least, as many as leave the wanted revisions.
    """
    fitting = (
        size for size in range(_MOST_CASES, _FEWEST_CASES, -1) if paid_revisions(rollouts, split, size) >= wanted
    )
    return min(next(fitting, _FEWEST_CASES), len(split.train))


def paid_revisions(rollouts: int, split: CaseSplit, minibatch: int) -> int:
    """For how many revisions, each tried before and after, the rollouts of an optimiser pay at most; each one that is
    kept takes a validation besides.
    """
    return max(0, rollouts - len(split.validation)) // (2 * min(minibatch, len(split.train)))


def few_revisions(rollouts: int, split: CaseSplit, minibatch: int, wanted: int) -> str | None:
    """What is said where the rollouts pay for fewer revisions than are wanted; None where they do not."""
    paid = paid_revisions(rollouts, split, minibatch)
    if paid >= wanted:
        return None
    batch = min(minibatch, len(split.train))
    enough = len(split.validation) + 2 * batch * wanted
    return (
        f"{rollouts} rollouts pay for {paid} revisions of each optimiser, each tried on {batch} training cases; "
        f"{wanted} are wanted, or the end may be left to chance: --rollouts {enough}"
        + (f", or --minibatch {_FEWEST_CASES}" if batch > _FEWEST_CASES else "")
    )


def refuse_budget_below(limits: SearchBudget, least: LeastUse, because: str) -> None:
    """Raises UsageError for a budget below what is used at least."""
    cents = math.ceil(100 * least.usd - 1e-9) / 100
    for limit, needed, unit, option in (
        (limits.usd, least.usd, "USD", f"--budget-usd {cents:.2f}"),
        (limits.tokens, least.tokens, "tokens", f"--budget-tokens {least.tokens}"),
        (limits.calls, least.calls, "calls", f"--budget-calls {least.calls}"),
    ):
        if limit is not None and limit < needed:
            raise UsageError(
                f"a budget of {limit:g} {unit} is too small to tell anything: {because}", remedy=f"{option} at least"
            )


def least_of(demand: RolloutDemand, rollouts: int, requests: int) -> LeastUse:
    """Of so many rollouts and requests to the reflector."""
    return demand.rollout.times(rollouts) + demand.request.times(requests)
