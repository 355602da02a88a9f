"""What a run may spend on real services and models, over all of its trials."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.errors import UsageError


def budget_of(usd: float | None, tokens: int | None, calls: Sequence[str]) -> "Budget | None":
    """The budget of options as typed (`TOOL=N` for calls); None where there is none. Raises UsageError."""
    counts: dict[str, int] = {}
    for given in calls:
        tool, _, number = given.partition("=")
        if not tool or not number.isascii() or not number.isdigit():
            raise UsageError(f"--budget-calls {given!r} is not TOOL=N", remedy="for example --budget-calls search=100")
        counts[tool] = int(number)
    if usd is None and tokens is None and not counts:
        return None
    return Budget(usd=usd, tokens=tokens, calls=counts)


class OutOfBudget(Exception):
    """A trial could not continue because the run's budget is spent; the trial is not measured, and no failure is
    recorded.
    """


@dataclass(kw_only=True)
class Budget:
    """Counts what is really spent: replayed answers cost nothing. Changed by the gateway's own thread only."""

    usd: float | None = None
    tokens: int | None = None
    calls: Mapping[str, int] = field(default_factory=dict)
    """Tool name -> how often it may be called."""
    spent_usd: float = 0.0
    spent_tokens: int = 0
    spent_calls: Counter[str] = field(default_factory=Counter)
    reached: str | None = None
    """Why the run must stop; None while there is something left."""

    def charge(self, tokens: int, usd: float | None) -> None:
        """Counts a model's reply, which was admitted before."""
        self.spent_tokens += tokens
        self.spent_usd += usd or 0.0
        if self.usd is not None and self.spent_usd >= self.usd:
            self._reach(f"{self.spent_usd:.4f} of {self.usd:g} USD spent")
        elif self.tokens is not None and self.spent_tokens >= self.tokens:
            self._reach(f"{self.spent_tokens} of {self.tokens} tokens spent")

    def admits_model(self) -> bool:
        return self.reached is None

    def admits_call(self, tool: str) -> bool:
        """Counts a call; False where the tool may be called no more."""
        most = self.calls.get(tool)
        if most is None or self.spent_calls[tool] < most:
            self.spent_calls[tool] += 1
            return True
        self._reach(f"{most} calls of {tool} made")
        return False

    def _reach(self, what: str) -> None:
        self.reached = self.reached or f"budget: {what}"
