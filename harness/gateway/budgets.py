"""What a run may spend on real services: its budget, the tools' rate limits, and the trials that wait."""

import asyncio
import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

from typing_extensions import override

from harness.errors import UsageError
from harness.suite.tools import Rate, RateLimit, ToolSpec
from harness.text import alternatives

_Number = TypeVar("_Number", int, float)


def budget_of(limits: Sequence[str], tools: Collection[str] = ()) -> "Budget | None":
    """The budget from `KEY=VALUE` with the keys `usd`, `tokens` and `calls:TOOL`; None if there is no limit.

    Raises UsageError for an invalid value, and for a tool that is not one of `tools`.
    """
    usd: float | None = None
    tokens: int | None = None
    calls: dict[str, int] = {}
    for limit in limits:
        key, _, value = limit.partition("=")
        _, _, tool = key.partition("calls:")
        if key == "usd":
            usd = _positive(limit, value, float)
        elif key == "tokens":
            tokens = _positive(limit, value, int)
        elif tool and tool in tools:
            calls[tool] = 0 if value == "0" else _positive(limit, value, int)
        elif tool:
            raise UsageError(f"--budget {limit}: there is no tool {tool!r}", remedy=alternatives(tool, sorted(tools)))
        else:
            raise _invalid(limit)
    return Budget(usd=usd, tokens=tokens, calls=calls) if limits else None


def _positive(limit: str, value: str, number: type[_Number]) -> _Number:
    try:
        found = number(value) if value.isascii() else number()
    except ValueError:
        raise _invalid(limit) from None
    if not 0 < found < math.inf:
        raise _invalid(limit)
    return found


def _invalid(limit: str) -> UsageError:
    return UsageError(
        f"invalid --budget {limit!r}: expected usd=AMOUNT, tokens=N or calls:TOOL=N",
        remedy="for example --budget usd=2 --budget calls:search=100",
    )


class OutOfBudget(Exception):
    """A trial could not continue because the run's budget is spent; the trial is not measured, and no failure is
    recorded.
    """


@dataclass(kw_only=True)
class Budget:
    """Counts real costs: replayed answers cost nothing."""

    usd: float | None = None
    tokens: int | None = None
    calls: Mapping[str, int] = field(default_factory=dict)
    """Tool name -> maximum number of calls."""
    requests: int | None = None
    """The maximum number of requests to models and tools together, including retries."""
    spent_usd: float = 0.0
    spent_tokens: int = 0
    spent_calls: Counter[str] = field(default_factory=Counter)
    spent_requests: int = 0
    """Reserved before they are sent, so that the limit is never exceeded."""
    unpriced: bool = False
    """Whether a reply had no price."""
    reached: str | None = None
    """Why the run must stop; None while the budget is not spent."""
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def charge(self, tokens: int, usd: float | None) -> None:
        """Counts a model's reply, which was admitted before."""
        with self._lock:
            self._charge(tokens, usd)

    def _charge(self, tokens: int, usd: float | None) -> None:
        self.spent_tokens += tokens
        self.spent_usd += usd or 0.0
        self.unpriced = self.unpriced or usd is None
        if self.usd is not None and self.spent_usd >= self.usd:
            self._reach(f"{self.spent_usd:.4f} of {self.usd:g} USD spent")
        elif self.tokens is not None and self.spent_tokens >= self.tokens:
            self._reach(f"{self.spent_tokens} of {self.tokens} tokens spent")

    def admits_model(self) -> bool:
        """Counts a request to a model; False if no further request may be sent."""
        with self._lock:
            return self.reached is None and self._reserved()

    def admits_call(self, tool: str) -> bool:
        """Counts a call; False if no further call is allowed."""
        with self._lock:
            most = self.calls.get(tool)
            if most is not None and self.spent_calls[tool] >= most:
                self._reach(f"{most} calls of {tool} made")
                return False
            if not self._reserved():
                return False
            self.spent_calls[tool] += 1
            return True

    def _reserved(self) -> bool:
        if self.requests is not None and self.spent_requests >= self.requests:
            self._reach(f"{self.requests} requests sent")
            return False
        self.spent_requests += 1
        return True

    def _reach(self, what: str) -> None:
        self.reached = self.reached or f"budget: {what}"


LONGEST_HOLD_S = 60.0


class RateLimiter:
    """Lets at most `calls` calls start in any `per_s` seconds; waiting calls are served in order of arrival."""

    def __init__(self) -> None:
        self._begun: dict[str, deque[float]] = {}
        self._held: dict[str, float] = {}

    def hold(self, name: str, for_s: float) -> None:
        """Delays calls to the upstream `name` for this time, at most a minute, because it has asked one
        client to wait.
        """
        until = time.monotonic() + min(for_s, LONGEST_HOLD_S)
        self._held[name] = max(until, self._held.get(name, until))

    async def wait(self, tool: ToolSpec) -> None:
        """Waits until the tool may be called."""
        await self.wait_for(tool.name, tool.rate_limit)

    async def wait_for(self, name: str, rate: Rate | None) -> None:
        """Waits until the upstream `name` may be called."""
        while (left := self._held.get(name, 0.0) - time.monotonic()) > 0:
            await asyncio.sleep(left)
        if rate is None:
            return
        limit = RateLimit.of(rate)
        begun = self._begun.setdefault(name, deque(maxlen=limit.calls))
        now = time.monotonic()
        at = max(now, begun[0] + limit.per_s) if len(begun) == limit.calls else now
        begun.append(at)
        if at > now:
            await asyncio.sleep(at - now)


class TrialLimiter(RateLimiter):
    """The limits of a run for one trial, of whose calls only one at a time waits among those of the other trials."""

    def __init__(self, shared: RateLimiter) -> None:
        super().__init__()
        self._shared = shared
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @override
    def hold(self, name: str, for_s: float) -> None:
        self._shared.hold(name, for_s)

    @override
    async def wait_for(self, name: str, rate: Rate | None) -> None:
        async with self._turns[name]:
            await self._shared.wait_for(name, rate)


# Counts the trials of a run that wait for an external answer, so that others can use the processor.

Waits = Callable[[], AbstractContextManager[None]]
"""A context that a trial enters while it waits for an answer from another machine."""


class Waiting:
    """Changed on the gateway's own thread only; `trials` can be read from any thread."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()

    @property
    def trials(self) -> int:
        """The number of trials that wait; each is counted once, however many calls it has made."""
        return len(self._calls)

    @contextmanager
    def answer(self, trial_id: str) -> Iterator[None]:
        """Marks one call of the trial as in progress."""
        self._calls[trial_id] += 1
        try:
            yield
        finally:
            self._calls[trial_id] -= 1
            if not self._calls[trial_id]:
                del self._calls[trial_id]
