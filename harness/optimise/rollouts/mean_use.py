"""What a rollout takes on average, and budgets that end before anything could be told."""

import math
from collections.abc import Sequence

from harness.errors import UsageError
from harness.optimise.rollouts.rollout import Rollout
from harness.optimise.rollouts.spending import SearchBudget
from harness.values import Frozen


class MeanUse(Frozen):
    """Means of rollouts that were measured already, without judge and reflector; None: not known."""

    usd: float | None = None
    tokens: float | None = None
    calls: float | None = None


def mean_use(rollouts: Sequence[Rollout]) -> MeanUse:
    """All None where nothing was run; dollars where one rollout has no price."""
    return MeanUse(
        usd=_mean([one.cost_usd for one in rollouts]),
        tokens=_mean([one.tokens for one in rollouts]),
        calls=_mean([one.calls for one in rollouts]),
    )


def refuse_small_budget(limits: SearchBudget, use: MeanUse, rollouts: int) -> None:
    """Raises UsageError for a budget in which the fewest `rollouts` that could tell anything do not fit."""
    if limits.usd is not None and use.usd is not None and limits.usd < rollouts * use.usd:
        least = math.ceil(100 * rollouts * use.usd) / 100
        raise _too_small(f"{limits.usd:g} USD", f"{use.usd:.4g} USD", rollouts, f"--budget-usd {least:.2f}")
    for limit, mean, unit in ((limits.tokens, use.tokens, "tokens"), (limits.calls, use.calls, "calls")):
        if limit is not None and mean is not None and limit < rollouts * mean:
            option = f"--budget-{unit} {math.ceil(rollouts * mean)}"
            raise _too_small(f"{limit} {unit}", f"{mean:.4g} {unit}", rollouts, option)


def _too_small(budget: str, mean: str, rollouts: int, option: str) -> UsageError:
    return UsageError(
        f"a budget of {budget} is too small to tell anything: a rollout takes about {mean}, and {rollouts} are the "
        "fewest by which a candidate can be confirmed",
        remedy=f"{option} at least, without judge and reflector",
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None
