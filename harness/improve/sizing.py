"""What is asked of an optimisation, and how much it takes at least and at most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.improve.acceptance import AcceptanceRules
from harness.improve.candidates import Component
from harness.improve.held_out import CaseSplit
from harness.improve.outcome import Mode
from harness.improve.reflector import read_rule_book
from harness.judging.settings import JudgeSettings
from harness.suite.suites import Suite
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


LEAST_REVISIONS = 8
"""For each text that is revised apart from others."""
_MOST_CASES, _FEWEST_CASES = 8, 3


class RolloutDemand(Frozen):
    """What one rollout and one revision ask of models at least, and how many revisions are wanted."""

    rollout: int = 1
    """Requests of the agent; none without a model."""
    request: int = 1
    """None if rules revise texts."""
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


def demand_of(
    suite: Suite,
    components: Sequence[Component],
    texts: Mapping[str, str],
    reflector: JudgeSettings | Path,
    mode: Mode,
) -> RolloutDemand:
    """`components`: those that are revised; `texts`: all texts in use by name."""
    revised = [texts[name] for component in components for name in component.texts]
    revisions = LEAST_REVISIONS * (1 if mode == "joint" else len(revised))
    if isinstance(reflector, Path):
        edits = [read_rule_book(reflector).edits(text) for text in revised]
        revisions = max(LEAST_REVISIONS, max(edits) if mode == "joint" else sum(edits))
    return RolloutDemand(
        rollout=int(suite.model is not None),
        request=int(not isinstance(reflector, Path)),
        revisions=revisions,
    )
