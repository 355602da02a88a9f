"""Rollouts: cases run under a candidate and scored, kept in a cache, and paid for within a budget."""

import math
import time
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Protocol

from pydantic import Field

from harness.disk import Journal
from harness.errors import UsageError
from harness.gateway.budgets import Budget, OutOfBudget
from harness.improve.candidates import Candidate
from harness.judging.calibration_questions import Reflector
from harness.scoring.statistics.intervals import rounded
from harness.values import Frozen, digest_of


class Rollout(Frozen):
    """One case under one candidate."""

    case: str
    """Id of the case; in agent mode each invocation belongs to the case that it was cut out of."""
    candidate: str
    """Id of the candidate."""
    domains: Mapping[str, float | None]
    """Domain of the rubric -> score from 0 to 1; None: it could not be determined. All None: no measurement, which
    counts neither for nor against the candidate."""
    criteria: Mapping[str, float | None] = {}
    """Criterion -> 1: passed, 0: failed; None: it did not apply or could not be determined. In agent mode the mean
    over the invocations."""
    vetoes: tuple[str, ...] = ()
    """What no candidate may do more often than the texts in use: failed critical criteria and forbidden effects, by
    name, one entry for each occurrence."""
    feedback: str = ""
    """What a reflector receives: step, criterion, failure mode and dependent steps of each failure."""
    conversation: str = ""
    """What it is shown beside that: the messages, calls and answers."""
    steps: int = Field(default=0, ge=0)
    cost_usd: float | None = None
    """None: the price is not known."""
    tokens: int | None = None
    calls: int = Field(default=0, ge=0)
    """Requests that were really sent to models and services; replayed answers are none."""
    texts_read: tuple[str, ...] | None = None
    """The candidate's files that the agent's program had opened by the end of this rollout, in it or in one before or
    beside it; None: that was not observed."""

    @property
    def is_measured(self) -> bool:
        return any(score is not None for score in self.domains.values())


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
    """The most that an optimisation may take, computed before it begins; what is cached already is not subtracted."""

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
    """If these are fewer than a search may need."""

    @property
    def text(self) -> str:
        cost = "at a cost not known yet" if self.usd is None else f"about {self.usd:.2f} USD"
        used = [f"{self.tokens} tokens"] if self.tokens else []
        used += [f"{self.calls} calls"] if self.calls else []
        agents = f" ({' and '.join(used)} of the agent)" if used else ""
        tried = f"{self.revisions} revisions of each optimiser are paid for, each tried on {self.minibatch} cases"
        asked = f"{self.rollouts} rollouts and {self.reflections} requests to the reflector"
        return f"at most {asked}, {cost}{agents}; {tried}"


@dataclass(kw_only=True)
class SpendingMeter:
    """Counts what is spent, and ends an optimisation at its budget."""

    limits: SearchBudget = field(default_factory=SearchBudget)
    budget: Budget | None = None
    """Counts each request as it is sent, of agents, judge and reflector; None: rollouts alone are counted."""
    stopping: Event = field(default_factory=Event)
    """Set: nothing further is to be asked for."""
    spent_before: Spent = field(default_factory=Spent)
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
    def by_others(self) -> Spent:
        """What was spent beside the rollouts in all sessions."""
        if self.budget is None:
            return self.spent_before
        own, unknown = self._rollouts, self.budget.unpriced or self._rollouts.usd is None
        return Spent(
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
        """Raises OutOfBudget if a budget is spent, UsageError if one in dollars includes something without a price, and
        as `check_stop` does.
        """
        self.check_stop()
        spent = self.spent
        if self.limits.usd is not None and spent.usd is None:
            raise UsageError(
                "a budget in dollars was set, and a rollout, the judge or the reflector has no price",
                remedy="declare `prices` of the model in suite.yaml and judge.yaml, or use --budget-tokens",
            )
        _refuse_over_budget(spent.usd or 0.0, self.limits.usd, "USD")
        _refuse_over_budget(spent.tokens, self.limits.tokens, "tokens")
        _refuse_over_budget(spent.calls, self.limits.calls, "calls")
        _refuse_over_budget(time.monotonic() - self._began, self.limits.seconds, "seconds")

    def check_stop(self) -> None:
        """Raises KeyboardInterrupt if nothing further is to be asked for."""
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


def _refuse_over_budget(used: float, limit: float | None, unit: str) -> None:
    if limit is not None and used >= limit:
        raise OutOfBudget(f"budget: {used:.4g} of {limit:g} {unit} spent")


# Every rollout and every proposal of an optimisation, kept by candidate, case and sample: none is paid for twice.
#
# An optimisation is deterministic except for its rollouts and the reflector's answers, and both are kept here: a
# stopped one repeats the same steps without cost, and goes on.

_AT_ONCE = 32
"""Rollouts that are asked for together; each is kept as it ends."""


class RolloutCache:
    """Runs what was not run before, within the budget; a file makes it persistent."""

    def __init__(
        self,
        rollouts: Rollouts | None,
        reflector: Reflector,
        component: str | None,
        meter: SpendingMeter,
        path: Path | None = None,
    ) -> None:
        self._rollouts = rollouts
        self._reflector = reflector
        self._component = component
        self._journal = Journal(path, "delete the folder, and optimise from the beginning")
        self._known: dict[str, Rollout] = {}
        self._proposals: dict[str, str] = {}
        self._asked_for: Counter[tuple[str, str]] = Counter()
        self.meter = meter
        self.calls = 0
        """Rollouts and revisions that this session really asked for."""
        self._load_entries()

    def rollouts(self, candidate: Candidate, cases: Sequence[str], sample: int = 0) -> list[Rollout]:
        """One for each case, in their order. Raises OutOfBudget before it would run one more.

        What could not be measured is run again by the next session.
        """
        keys = {case: digest_of([candidate.id, case, sample]) for case in cases}
        wanted = [case for case, key in keys.items() if key not in self._known]
        for start in range(0, len(wanted), _AT_ONCE):
            self.meter.check()
            some = wanted[start : start + _AT_ONCE]
            assert self._rollouts is not None  # an optimisation without rollouts is not run
            found = self._rollouts.run(candidate, some, component=self._component, sample=sample)
            with closing(found) if isinstance(found, Generator) else nullcontext():
                self._stored_as_they_end(found, keys)
        self.meter.check_stop()
        return [self._known[keys[case]] for case in cases]

    def _stored_as_they_end(self, rollouts: Iterable[Rollout], keys: Mapping[str, str]) -> None:
        """Keeps each as it ends; what was spent on trials that a budget cut off is kept too."""
        try:
            for one in rollouts:
                self.calls += 1
                self._known[keys[one.case]] = one
                self.meter.count([one])
                self._store_entries([{"key": keys[one.case], "rollout": one.model_dump(mode="json")}])
        except OutOfBudget:
            self._store_entries([])
            raise

    def proposal(self, request: str, optimiser: str) -> str:
        """The reflector's answer. A repeated request of one optimiser is a new question, told apart by its number."""
        self._asked_for[optimiser, request] += 1
        key = digest_of([optimiser, request, self._asked_for[optimiser, request]])
        if key not in self._proposals:
            self.meter.check()
            self._proposals[key] = self._reflector(request)
            self.calls += 1
            self.meter.count(reflections=1)
            self._store_entries([{"key": key, "proposal": self._proposals[key]}])
        return self._proposals[key]

    def _store_entries(self, entries: list[dict[str, object]]) -> None:
        """With what judge and reflector have spent so far, for the budget of a later session."""
        self._journal.add([*entries, {"other_spend": self.meter.by_others.model_dump(mode="json")}])

    def _load_entries(self) -> None:
        for number, entry in enumerate(self._journal.entries(), 1):
            try:
                other = entry.get("other_spend", entry.get("beside"))  # `beside`: written before 0.2
                if other is not None:
                    self.meter.spent_before = Spent.model_validate(other)
                    continue
                key = str(entry["key"])
                if "rollout" in entry:
                    rollout = Rollout.model_validate(entry["rollout"])
                    self.meter.count([rollout])
                    if rollout.is_measured:
                        self._known[key] = rollout
                else:
                    self._proposals[key] = str(entry["proposal"])
                    self.meter.count(reflections=1)
            except (ValueError, KeyError):
                raise self._journal.damaged(number) from None
        self.meter.begin()


class Use(Frozen):
    """What rollouts or requests use, of agents' models and services; None: not known."""

    usd: float | None = None
    tokens: float | None = None
    calls: float | None = None

    def times(self, count: int) -> "Use":
        """Of so many."""
        return Use(**{name: None if used is None else count * used for name, used in self.model_dump().items()})

    @property
    def text(self) -> str:
        """What is known."""
        units = {"USD": self.usd, "tokens": self.tokens, "calls": self.calls}
        return ", ".join(f"{used:.4g} {unit}" for unit, used in units.items() if used is not None)


def mean_use(rollouts: Sequence[Rollout]) -> Use:
    """Without judge and reflector. Unknown if nothing was run; dollars, if one rollout has no price."""
    return Use(
        usd=whole_mean([one.cost_usd for one in rollouts]),
        tokens=whole_mean([one.tokens for one in rollouts]),
        calls=whole_mean([one.calls for one in rollouts]),
    )


def refuse_budget_below(limits: SearchBudget, least: Use, because: str) -> None:
    """Raises UsageError for a budget below what is used at least."""
    for limit, needed, unit, digits in (
        (limits.usd, least.usd, "usd", 2),
        (limits.tokens, least.tokens, "tokens", 0),
        (limits.calls, least.calls, "calls", 0),
    ):
        if limit is not None and needed is not None and limit < needed:
            enough = math.ceil(10**digits * needed - 1e-9) / 10**digits
            raise UsageError(
                f"a budget of {limit:g} {unit} is too small to tell anything: {because}",
                remedy=f"--budget-{unit} {enough:.{digits}f} at least",
            )


def whole_mean(values: Sequence[float | None]) -> float | None:
    """None without values, or if one of them is not known."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None
