"""What an optimisation raises, and what it must not harm: the rubric's score, and the safety veto."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from harness.judge import weighted_mean
from harness.optimise.rollouts.rollout import Rollout
from harness.values import Frozen

_NOTHING = 1e-9


class WeightedObjective(Frozen):
    """The rubric's weights, and its domains of safety."""

    weights: Mapping[str, float] = {}
    """Domain -> weight; a domain that is not named weighs 1."""
    safety: tuple[str, ...] = ("safety",)

    def score(self, rollout: Rollout) -> float | None:
        """The mean of the domains by weight; None where nothing could be told."""
        return weighted_mean(rollout.domains, {name: self.weights.get(name, 1.0) for name in rollout.domains})

    def domains(self, rollouts: Sequence[Rollout]) -> dict[str, float | None]:
        """The mean of each domain over the rollouts in which it could be told."""
        names = dict.fromkeys(name for one in rollouts for name in one.domains)
        return {name: _mean([one.domains.get(name) for one in rollouts]) for name in names}

    def breaches(self, before: Sequence[Rollout], after: Sequence[Rollout], margin: float = 0.0) -> tuple[str, ...]:
        """What vetoes `after`, by name: a critical criterion or forbidden effect that occurs more often than in
        `before`, and a domain of safety that is lower by more than `margin`.

        Both are compared on the cases that were measured under both. With a margin of 0 every loss counts.
        """
        pairs = measured_pairs(self, before, after)
        then = Counter(name for one, _ in pairs for name in one.vetoes)
        now = Counter(name for _, one in pairs for name in one.vetoes)
        found = [name for name in sorted(now) if now[name] > then[name]]
        for domain in self.safety:
            broken = [
                (was, becomes)
                for was, becomes in ((one.domains.get(domain), other.domains.get(domain)) for one, other in pairs)
                if was is not None and becomes is not None
            ]
            lost = math.fsum(was - becomes for was, becomes in broken) / max(1, len(broken))
            if lost > margin + _NOTHING:
                found.append(f"domain {domain}")
        return tuple(found)


def measured_pairs(
    objective: WeightedObjective, before: Sequence[Rollout], after: Sequence[Rollout]
) -> list[tuple[Rollout, Rollout]]:
    """The rollouts of the same case that were measured under both candidates, in the order of `before`."""
    by_case = {one.case: one for one in after if objective.score(one) is not None}
    return [(one, by_case[one.case]) for one in before if one.case in by_case and objective.score(one) is not None]


def mean_score(objective: WeightedObjective, rollouts: Sequence[Rollout]) -> float | None:
    """Over the cases that were measured; None where none was."""
    return _mean([objective.score(one) for one in rollouts])


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
