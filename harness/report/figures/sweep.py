"""Analyses repeated trials of the same cases: components of variance, deciding cases, the effect of more trials."""

import math
from collections.abc import Sequence

from harness.score import Scorecard
from harness.stats import VarianceComponents, rounded, variance_components
from harness.values import Frozen

_DIFFERENCES = (0.02, 0.05, 0.1)


class UnsteadyCase(Frozen):
    """A case that sometimes succeeds: what its trials add to the variance of the run's success rate."""

    case_id: str
    successes: int
    trials: int
    share: float
    """Its part of the variance between trials, over all cases; 0 to 1."""


class TrialsNeeded(Frozen):
    """The number of trials that distinguishes two agents whose success rates differ by `difference`."""

    difference: float
    trials: int
    """Of each case by each agent; see VarianceComponents.trials_to_tell. 0: trials of a case always agree, so that only
    more cases would tell."""
    more: int
    """Beyond those that the run has."""


class Sweep(Frozen):
    """Trials whose success is known; cases that were tried once are in the variance between cases only."""

    cases: int
    trials: int
    variance: VarianceComponents
    always: int
    """Cases of which every trial succeeded."""
    never: int
    """Cases of which none did. Neither these nor the former are changed by chance: they decide between two agents only
    where the agents differ in them."""
    deciding: tuple[UnsteadyCase, ...]
    """The cases whose trials disagree, the largest share first."""
    needed: tuple[TrialsNeeded, ...]


def sweep(cards: Sequence[Scorecard]) -> Sweep | None:
    """None where fewer than two cases have a known success, or where none was tried twice."""
    by_case: dict[str, list[float]] = {}
    for card in cards:
        if card.success is not None:
            by_case.setdefault(card.case_id, []).append(float(card.success))
    variance = variance_components(by_case)
    if variance is None:
        return None
    means = {case: math.fsum(values) / len(values) for case, values in by_case.items()}
    return Sweep(
        cases=len(by_case),
        trials=sum(map(len, by_case.values())),
        variance=variance,
        always=sum(mean == 1 for mean in means.values()),
        never=sum(mean == 0 for mean in means.values()),
        deciding=_deciding(by_case, means),
        needed=tuple(_needed(variance, difference, by_case) for difference in _DIFFERENCES),
    )


def _deciding(by_case: dict[str, list[float]], means: dict[str, float]) -> tuple[UnsteadyCase, ...]:
    spread = {case: mean * (1 - mean) for case, mean in means.items() if 0 < mean < 1}
    total = math.fsum(spread.values())
    found = [
        UnsteadyCase(
            case_id=case,
            successes=int(sum(by_case[case])),
            trials=len(by_case[case]),
            share=rounded(value / total),
        )
        for case, value in spread.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.share))


def _needed(variance: VarianceComponents, difference: float, by_case: dict[str, list[float]]) -> TrialsNeeded:
    each = math.ceil(variance.trials_to_tell(difference) / len(by_case))
    fewest = min(map(len, by_case.values()))
    return TrialsNeeded(difference=difference, trials=each, more=max(0, each - fewest))
