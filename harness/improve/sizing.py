"""What is asked of an optimisation, and how much it takes at least and at most."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import UsageError
from harness.improve.acceptance import AcceptanceRules
from harness.improve.candidates import Component
from harness.improve.held_out import CaseSplit
from harness.improve.outcome import Mode
from harness.improve.reflector import ReflectionRequest, read_rule_book
from harness.improve.rollouts import SearchBudget
from harness.improve.search import Vetoes
from harness.judging.settings import JudgeSettings
from harness.suite.suites import Suite
from harness.text import tokens_of
from harness.values import Frozen


@dataclass(frozen=True, kw_only=True)
class OptimisationSettings:
    """How much is searched, and how strictly it is decided."""

    rollouts: int = 200
    """Rollouts of each optimiser, cached ones included."""
    minibatch: int | None = None
    """Training cases that a revision is tried on; None: as many as leave enough revisions."""
    noise_samples: int = 3
    """How often the texts in use are run on validation."""
    seed: int = 0
    rules: AcceptanceRules = field(default_factory=AcceptanceRules)
    vetoes: Vetoes = field(default_factory=Vetoes)
    """Switched off only in tests."""


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
    """The shortest text is sent and answered once; nothing if rules revise texts."""
    revisions: int = LEAST_REVISIONS
    """Of each optimiser, before a search can be expected to find anything: `LEAST_REVISIONS` for each text that is
    revised apart from others; if rules revise texts, one for each edit that they know, if these are more."""


def minibatch_of(rollouts: int, split: CaseSplit, wanted: int) -> int:
    """The number of training cases that a revision is tried on, if none is asked for: eight at most and three at
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
    """What is said if the rollouts pay for fewer revisions than are wanted; None if they do not."""
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


# What a suite's rollouts and its reflector use at least, read from declarations: texts, models, prices, rules.

_TOKENS_OF_PRICE = 1_000_000


def demand_of(
    suite: Suite,
    components: Sequence[Component],
    texts: Mapping[str, str],
    reflector: JudgeSettings | Path,
    mode: Mode,
) -> RolloutDemand:
    """`components`: those that are revised; `texts`: all texts in use by name."""
    revised = {name: texts[name] for component in components for name in component.texts}
    if isinstance(reflector, Path):
        book = read_rule_book(reflector)
        edits = [book.edits(text) for text in revised.values()]
        return RolloutDemand(
            rollout=_rollout(suite, components, texts, mode),
            request=LeastUse(),
            revisions=max(LEAST_REVISIONS, max(edits) if mode == "joint" else sum(edits)),
        )
    return RolloutDemand(
        rollout=_rollout(suite, components, texts, mode),
        request=_request(reflector, components, revised),
        revisions=LEAST_REVISIONS * (1 if mode == "joint" else len(revised)),
    )


def _rollout(suite: Suite, components: Sequence[Component], texts: Mapping[str, str], mode: Mode) -> LeastUse:
    """One request of the agent that holds the texts of the component that is asked: in joint mode by the user."""
    model = suite.model
    if model is None:
        return LeastUse()
    asked = [one for one in components if mode == "agent" or not one.called_by]
    tokens = min((sum(tokens_of(texts[file]) for file in one.files) for one in asked), default=0)
    prices = [model.price_of(name) for name in model.models] if model.models else list(model.priced.values())
    known = [one.input_usd_per_mtok for one in prices if one is not None]
    usd = min(known, default=0.0) * tokens / _TOKENS_OF_PRICE if len(known) == len(prices) else 0.0
    return LeastUse(usd=usd, tokens=tokens, calls=1)


def _request(reflector: JudgeSettings, components: Sequence[Component], revised: Mapping[str, str]) -> LeastUse:
    """The shortest request without feedback, which is answered with a text that is about as long."""
    sizes = list(_sizes(components, revised))
    read, written = min(sizes, default=(0, 0))
    price = reflector.spec.price_of(reflector.model)
    usd = 0.0
    if price is not None:
        usd = (read * price.input_usd_per_mtok + written * price.output_usd_per_mtok) / _TOKENS_OF_PRICE
    return LeastUse(usd=usd, tokens=read + written, calls=1)


def _sizes(components: Sequence[Component], revised: Mapping[str, str]) -> Iterable[tuple[int, int]]:
    for component in components:
        for name in component.texts:
            request = ReflectionRequest(component=component, path=name, text=revised[name])
            yield tokens_of(request.prompt), tokens_of(revised[name])
