"""What an optimisation may spend, what it spent, and what it would at most."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event

from harness.errors import UsageError
from harness.optimise.rollouts.rollout import Rollout
from harness.stats import rounded
from harness.upstream import Budget, OutOfBudget
from harness.values import Frozen


class Spent(Frozen):
    """What was really spent; cached rollouts and replayed answers cost nothing."""

    rollouts: int = 0
    reflections: int = 0
    """Requests to the reflector."""
    calls: int = 0
    """Requests to models and services, the reflector's among them."""
    tokens: int = 0
    usd: float | None = 0.0
    """None: something had no price."""


class SearchBudget(Frozen):
    """Budgets over the whole optimisation, earlier sessions of it included; None: no limit."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    """Of this session alone."""


class CostEstimate(Frozen):
    """The most that an optimisation may take, worked out before it begins; what is cached already is not subtracted."""

    rollouts: int
    reflections: int
    usd: float | None
    """By the mean of rollouts that were measured already, without judge and reflector; None: there are none, or they
    have no price. Likewise `tokens` and `calls`."""
    tokens: int | None = None
    calls: int | None = None
    """Requests to the agent's models and to services."""
    minibatch: int = 0
    """Training cases that each revision is tried on."""
    revisions: int = 0
    """Of each optimiser, for which its rollouts pay at most."""
    warning: str | None = None
    """Where these are fewer than a search may need."""

    @property
    def text(self) -> str:
        cost = "at a cost not known yet" if self.usd is None else f"about {self.usd:.2f} USD"
        used = [f"{self.tokens} tokens"] if self.tokens else []
        used += [f"{self.calls} calls"] if self.calls else []
        agents = f" ({' and '.join(used)} of the agent)" if used else ""
        tried = f"{self.revisions} revisions of each optimiser are paid for, each tried on {self.minibatch} cases"
        asked = f"{self.rollouts} rollouts and {self.reflections} requests to the reflector"
        return f"at most {asked}, {cost}{agents}; {tried}"


class OtherSpend(Frozen):
    """What was spent beside the rollouts that are kept: by judge and reflector, and by trials that were cut off."""

    usd: float | None = 0.0
    """None: a reply had no price."""
    tokens: int = 0
    calls: int = 0


@dataclass(kw_only=True)
class SpendingMeter:
    """Counts what is spent, and ends an optimisation at its budget."""

    limits: SearchBudget = field(default_factory=SearchBudget)
    budget: Budget | None = None
    """Counts each request as it is sent, of agents, judge and reflector; None: rollouts alone are counted."""
    stopping: Event = field(default_factory=Event)
    """Set: nothing further is to be asked for."""
    spent_before: OtherSpend = field(default_factory=OtherSpend)
    """What earlier sessions spent beside their rollouts."""
    _rollouts: Spent = field(default_factory=Spent)
    _began: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """Lets the budget go on from what earlier sessions spent."""
        if self.budget is None:
            return
        own, before = self._rollouts, self.spent_before
        self.budget.spent_requests = own.calls + before.calls
        self.budget.spent_tokens = own.tokens + before.tokens
        self.budget.spent_usd = (own.usd or 0.0) + (before.usd or 0.0)
        self.budget.unpriced = own.usd is None or before.usd is None

    @property
    def by_others(self) -> OtherSpend:
        """What was spent beside the rollouts in all sessions."""
        if self.budget is None:
            return self.spent_before
        own, unknown = self._rollouts, self.budget.unpriced or self._rollouts.usd is None
        return OtherSpend(
            usd=None if unknown else rounded(max(0.0, self.budget.spent_usd - (own.usd or 0.0))),
            tokens=max(0, self.budget.spent_tokens - own.tokens),
            calls=max(0, self.budget.spent_requests - own.calls),
        )

    @property
    def spent(self) -> Spent:
        """All that was spent, in all sessions."""
        own, others = self._rollouts, self.by_others
        return own.model_copy(
            update={
                "calls": own.calls + others.calls,
                "tokens": own.tokens + others.tokens,
                "usd": None if own.usd is None or others.usd is None else rounded(own.usd + others.usd),
            }
        )

    def check(self) -> None:
        """Raises OutOfBudget where a budget is spent, UsageError where one in dollars meets something unpriced, and as
        `check_stop` does.
        """
        self.check_stop()
        spent = self.spent
        if self.limits.usd is not None and spent.usd is None:
            raise UsageError(
                "a budget in dollars was set, and a rollout, the judge or the reflector has no price",
                remedy="declare `prices` of the model in suite.yaml and judge.yaml, or use --budget-tokens",
            )
        _hold(spent.usd or 0.0, self.limits.usd, "USD")
        _hold(spent.tokens, self.limits.tokens, "tokens")
        _hold(spent.calls, self.limits.calls, "calls")
        _hold(time.monotonic() - self._began, self.limits.seconds, "seconds")

    def check_stop(self) -> None:
        """Raises KeyboardInterrupt where nothing further is to be asked for."""
        if self.stopping.is_set():
            raise KeyboardInterrupt

    def count(self, rollouts: Sequence[Rollout] = (), *, reflections: int = 0) -> None:
        """Adds rollouts that were run, or requests to the reflector."""
        own = self._rollouts
        costs = [one.cost_usd for one in rollouts]
        known = [cost for cost in costs if cost is not None]
        unknown = own.usd is None or len(known) < len(costs)
        self._rollouts = Spent(
            rollouts=own.rollouts + len(rollouts),
            reflections=own.reflections + reflections,
            calls=own.calls + sum(one.calls for one in rollouts),
            tokens=own.tokens + sum(one.tokens or 0 for one in rollouts),
            usd=None if unknown else rounded(math.fsum([own.usd or 0.0, *known])),
        )


def _hold(used: float, limit: float | None, unit: str) -> None:
    if limit is not None and used >= limit:
        raise OutOfBudget(f"budget: {used:.4g} of {limit:g} {unit} spent")
