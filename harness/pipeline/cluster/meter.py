"""The budget and the rate limits that all nodes of a run share while tools or models answer live.

They are held in one actor beside the driver, which every live call queries: this takes a millisecond or two, and no
node can spend the amount that another one has spent.
"""

from dataclasses import dataclass, field
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from harness.case import RateLimit
from harness.upstream import Budget, RateLimiter


class ClusterMeter:
    """The one place: an actor. Its methods run one after the other, and waiting callers wait side by side."""

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget or Budget()
        self._limiter = RateLimiter()

    async def wait_for(self, name: str, limit: RateLimit | None) -> None:
        await self._limiter.wait_for(name, limit)

    async def hold(self, name: str, for_s: float) -> None:
        self._limiter.hold(name, for_s)

    async def admits_call(self, tool: str) -> tuple[bool, str | None]:
        """Also why not."""
        return self._budget.admits_call(tool), self._budget.reached

    async def charge(self, tokens: int, usd: float | None) -> None:
        self._budget.charge(tokens, usd)

    async def budget(self) -> Budget:
        return self._budget


def open_meter(budget: Budget | None) -> Any:
    """A handle of the run's meter, which may be sent to nodes. It ends with the driver."""
    here = NodeAffinitySchedulingStrategy(node_id=ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(ClusterMeter).options(num_cpus=0, scheduling_strategy=here).remote(budget)


@dataclass(kw_only=True)
class SharedBudget(Budget):
    """The run's budget, on a node; what is spent is known to the meter alone."""

    meter: Any = field(repr=False)

    @classmethod
    def of(cls, budget: Budget, meter: Any) -> "SharedBudget":
        return cls(usd=budget.usd, tokens=budget.tokens, calls=budget.calls, meter=meter)

    def charge(self, tokens: int, usd: float | None) -> None:
        ray.get(self.meter.charge.remote(tokens, usd))

    def admits_model(self) -> bool:
        self.reached = ray.get(self.meter.budget.remote()).reached
        return self.reached is None

    def admits_call(self, tool: str) -> bool:
        admitted, self.reached = ray.get(self.meter.admits_call.remote(tool))
        return bool(admitted)


class SharedLimiter(RateLimiter):
    """The run's rate limits, on a node."""

    def __init__(self, meter: Any) -> None:
        super().__init__()
        self._meter = meter

    def hold(self, name: str, for_s: float) -> None:
        self._meter.hold.remote(name, for_s)

    async def wait_for(self, name: str, limit: RateLimit | None) -> None:
        await self._meter.wait_for.remote(name, limit)


def bring_up_to_date(budget: Budget, meter: Any) -> None:
    """Updates the driver's budget by the amounts that the nodes have spent."""
    now: Budget = ray.get(meter.budget.remote())
    for name in ("spent_usd", "spent_tokens", "spent_calls", "reached"):
        setattr(budget, name, getattr(now, name))
