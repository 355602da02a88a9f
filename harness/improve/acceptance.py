"""Which candidate is chosen on validation, and whether the held-out cases confirm it."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from harness.improve.lineage import WeightedObjective, mean_score, measured_pairs
from harness.improve.rollouts import Rollout, whole_mean
from harness.scoring.statistics.intervals import Interval, noise_margin
from harness.scoring.statistics.significance import holm, least_share, sign_test_greater
from harness.values import Frozen

LEVEL = 0.05
"""Chance at most of taking a candidate that is no better."""
_NOTHING = 1e-9
_LEAST_MEASURED = 0.9


class Vetoes(Frozen):
    """Where the safety veto is applied. All of them, except in tests, which show that each one matters."""

    minibatch: bool = True
    parent: bool = True
    final: bool = True


class AcceptanceRules(Frozen):
    """What a candidate must fulfil besides being better."""

    max_cost_increase: float = Field(default=0.2, ge=0)
    """By how much mean cost and mean steps may grow: 0.2 is 20 %."""
    vetoes: Vetoes = Vetoes()
    """Switched off only in tests."""


class Noise(Frozen):
    """The scores of the texts in use vary from run to run by judge and simulator; measured in the same optimisation."""

    scores: tuple[tuple[float, ...], ...]
    """The repeated scores of each validation case."""
    safety: tuple[tuple[float, ...], ...] = ()
    """The same of the domains of safety, all in one list."""

    def margin(self, cases: int, candidates: int = 1) -> float:
        """By how much the best of so many equal candidates may be ahead over so many cases, at 95 % confidence."""
        return noise_margin(self.scores, cases, comparisons=max(1, candidates))

    def safety_margin(self, cases: int) -> float:
        return noise_margin(self.safety, cases)


class ValidationChoice(Frozen):
    """The candidate that one optimiser's validation chose."""

    candidate: str | None
    """None: none was ahead beyond the noise and passed the constraints."""
    why: str
    gain: float | None = None
    """Of the best that was not vetoed, on validation."""
    margin: float = 0.0
    """By how much it had to be ahead on validation."""
    vetoed: Mapping[str, tuple[str, ...]] = {}
    """Candidate -> what it broke more often than the texts in use."""
    too_costly: tuple[str, ...] = ()
    over_limit: float | None = None
    """The rise of mean cost or mean steps (2.0: 200 %) of a candidate that was ahead of all others beyond the noise,
    and was not picked for this rise alone; None: there was none."""


class HeldOut(Frozen):
    """A candidate beside the texts in use on the held-out cases."""

    candidate: str
    cases: int
    """Measured under both."""
    before: float | None
    after: float | None
    gain: float | None
    interval: Interval | None
    """Of the share of better cases among those that changed, by the test that gives `p`, at the same correction: its
    lower limit is at least 0.5 if and only if p is at most 0.05; None if no case changed."""
    better: int
    """Cases whose score rose; `worse`: fell."""
    worse: int
    p: float | None
    """Exact one-sided sign test, corrected for all candidates that were examined on these cases (Holm) and for
    earlier looks (Bonferroni); None if no case changed."""
    margin: float
    accepted: bool
    why: str


def pick(
    objective: WeightedObjective,
    before: Sequence[Rollout],
    candidates: Mapping[str, Sequence[Rollout]],
    noise: Noise,
    rules: AcceptanceRules,
) -> ValidationChoice:
    """The best candidate by validation, the earlier one if two are equal.

    Third veto: what breaks a critical criterion more often than the texts in use, or is worse in a domain of safety, is
    left out, as is what costs too much or was hardly measured. The margin is the noise of the best of all candidates.
    """
    safety_margin = noise.safety_margin(len(before))
    breaches = {name: objective.breaches(before, found, safety_margin) for name, found in candidates.items()}
    vetoed = {name: broken for name, broken in breaches.items() if broken} if rules.vetoes.final else {}
    costly = tuple(name for name, found in candidates.items() if costs_too_much(before, found, rules))
    margin = noise.margin(len(before), len(candidates))
    gains = {
        name: gain
        for name, found in candidates.items()
        if name not in vetoed and name not in costly and (gain := _gain(objective, before, found)) is not None
    }
    best = max(gains, key=lambda name: gains[name], default=None)
    dear = _TooDear.of(objective, before, [candidates[name] for name in costly if name not in vetoed])
    if dear is not None and dear.gain <= max(margin, gains[best] if best is not None else 0.0) + _NOTHING:
        dear = None
    also = "" if dear is None else f"; {dear.words(rules)}"
    reasons = {"margin": margin, "vetoed": vetoed, "too_costly": costly, "over_limit": dear and dear.rise}
    if best is None:
        why = "every candidate was vetoed, too costly or not measured" if dear is None else dear.words(rules)
        if not candidates:
            perfect = (mean_score(objective, before) or 0.0) >= 1 - _NOTHING
            why = "the texts in use have the highest score already" if perfect else "no candidate came up"
        return ValidationChoice(candidate=None, why=why, **reasons)
    gain = gains[best]
    if gain <= margin + _NOTHING:
        why = f"the best is ahead by {gain:.3f} on validation, within the noise of {margin:.3f}"
        why = why if gain > _NOTHING else "none is ahead on validation"
        return ValidationChoice(candidate=None, why=why + also, gain=gain, **reasons)
    why = f"ahead by {gain:.3f} on validation, beyond the noise of {margin:.3f}"
    return ValidationChoice(candidate=best, why=why + also, gain=gain, **reasons)


def confirm(
    objective: WeightedObjective,
    before: Sequence[Rollout],
    picks: Mapping[str, Sequence[Rollout]],
    noise: Noise,
    rules: AcceptanceRules,
    looks: int = 0,
) -> dict[str, HeldOut]:
    """Each pick on the held-out cases; `looks` counts earlier optimisations that examined them."""
    pairs = {name: measured_pairs(objective, before, after) for name, after in picks.items()}
    moves = {name: [_difference(objective, one) for one in found] for name, found in pairs.items()}
    counts = {
        name: (sum(one > _NOTHING for one in found), sum(one < -_NOTHING for one in found))
        for name, found in moves.items()
    }
    alone = {name: sign_test_greater(*one) for name, one in counts.items()}
    corrected = dict(zip(counts, holm(list(alone.values())), strict=True))
    found = {}
    for name, after in picks.items():
        raw, p = alone[name], corrected[name]
        p = None if p is None else min(1.0, p * (1 + looks))
        low = None if raw is None or p is None else least_share(*counts[name], LEVEL * raw / p)
        result = HeldOut(
            candidate=name,
            cases=len(pairs[name]),
            before=mean_score(objective, [one for one, _ in pairs[name]]),
            after=mean_score(objective, [one for _, one in pairs[name]]),
            gain=math.fsum(moves[name]) / len(moves[name]) if moves[name] else None,
            interval=None if low is None else Interval(low=low, high=1.0),
            better=counts[name][0],
            worse=counts[name][1],
            p=p,
            margin=noise.margin(max(1, len(pairs[name]))),
            accepted=False,
            why="",
        )
        problem = _problem(objective, result, before, after, noise, rules)
        found[name] = result.model_copy(update={"accepted": problem is None, "why": problem or "confirmed"})
    return found


def least_cases(picks: int, looks: int) -> int:
    """The number of held-out cases with which the test can be passed at all: all of them better, none worse."""
    return math.ceil(math.log2(picks * (1 + looks) / LEVEL))


def costs_too_much(before: Sequence[Rollout], after: Sequence[Rollout], rules: AcceptanceRules) -> bool:
    """Whether mean cost or mean steps grow beyond the limit; a cost that is not known is left out."""
    return any(
        becomes > was * (1 + rules.max_cost_increase) + _NOTHING for was, becomes in _use(before, after).values()
    )


def _problem(
    objective: WeightedObjective,
    result: HeldOut,
    before: Sequence[Rollout],
    after: Sequence[Rollout],
    noise: Noise,
    rules: AcceptanceRules,
) -> str | None:
    broken = objective.breaches(before, after, noise.safety_margin(len(before))) if rules.vetoes.final else ()
    if broken:
        return f"vetoed on held-out: {', '.join(broken)}"
    if result.gain is None or result.cases < _LEAST_MEASURED * len(before):
        return f"only {result.cases} of {len(before)} held-out cases could be measured"
    if costs_too_much(before, after, rules):
        return f"costs or steps rise by more than {rules.max_cost_increase:.0%}"
    return _doubt(result.gain, result.margin, result.p)


def _doubt(gain: float, margin: float, p: float | None) -> str | None:
    """Why the gain may be none; None: it is one."""
    if gain <= _NOTHING:
        return f"held-out changes by {gain:+.3f}: what validation showed was overfitting"
    if gain <= margin + _NOTHING:
        return f"held-out rises by {gain:.3f}, within the noise of {margin:.3f}"
    if p is None or p > LEVEL:
        return f"held-out rises by {gain:.3f}, which chance may explain (p = {p})"
    return None


def _gain(objective: WeightedObjective, before: Sequence[Rollout], after: Sequence[Rollout]) -> float | None:
    """The mean difference over the cases measured under both; None if too few were."""
    pairs = measured_pairs(objective, before, after)
    there = sum(objective.score(one) is not None for one in before)
    if not pairs or len(pairs) < _LEAST_MEASURED * there:
        return None
    return math.fsum(_difference(objective, one) for one in pairs) / len(pairs)


def _difference(objective: WeightedObjective, pair: tuple[Rollout, Rollout]) -> float:
    before, after = (objective.score(one) or 0.0 for one in pair)
    return after - before


def _use(before: Sequence[Rollout], after: Sequence[Rollout]) -> dict[str, tuple[float, float]]:
    """Mean cost, if both are known, and mean steps: before and after."""
    cost, cost_after = (whole_mean([one.cost_usd for one in some]) for some in (before, after))
    steps, steps_after = (sum(one.steps for one in some) / max(1, len(some)) for some in (before, after))
    known = {} if cost is None or cost_after is None else {"mean cost": (cost, cost_after)}
    return {**known, "the mean number of steps": (steps, steps_after)}


class _TooDear(NamedTuple):
    """The best candidate over the cost limit."""

    gain: float
    rise: float
    """Of mean cost or mean steps, whichever rises more."""
    what: str

    @classmethod
    def of(
        cls, objective: WeightedObjective, before: Sequence[Rollout], dear: Sequence[Sequence[Rollout]]
    ) -> "_TooDear | None":
        """None if there is none whose gain is known and that some limit would admit."""
        found = [
            cls(gain, *max(rises))
            for after in dear
            if (gain := _gain(objective, before, after)) is not None and (rises := _cost_and_step_rises(before, after))
        ]
        return max(found, default=None, key=lambda one: (one.gain, -one.rise))

    def words(self, rules: AcceptanceRules) -> str:
        least = math.ceil(100 * self.rise - 1e-6) / 100
        return (
            f"one is better by {self.gain:.3f} on validation, but over the cost limit: {self.what} rises by "
            f"{self.rise:.0%}, and {rules.max_cost_increase:.0%} are allowed; --max-cost-increase {least:g} admits it"
        )


def _cost_and_step_rises(before: Sequence[Rollout], after: Sequence[Rollout]) -> list[tuple[float, str]]:
    """By how much mean cost, if it is known, and mean steps rise; empty if one rises from nothing."""
    use = _use(before, after)
    if any(was <= 0 < becomes for was, becomes in use.values()):
        return []
    return [(becomes / was - 1 if was > 0 else 0.0, name) for name, (was, becomes) in use.items()]
