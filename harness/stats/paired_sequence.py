"""A paired comparison that may be evaluated after every pair, and whose next pairs may be chosen by earlier ones."""

import heapq
from collections.abc import Mapping
from typing import Literal

from harness.stats.anytime_bounds import confidence_sequence
from harness.stats.sequential import LEVEL
from harness.values import Frozen

_PRIOR = 0.5


class PairTally(Frozen):
    """Pairs of one trial of each of two agents at the same case."""

    better: int = 0
    """Pairs in which only the second agent succeeded."""
    worse: int = 0
    """Pairs in which only the first one did."""
    same: int = 0

    @property
    def pairs(self) -> int:
        return self.better + self.worse + self.same

    def with_pair(self, before: bool, after: bool) -> "PairTally":
        """The tally with one pair more: whether the first agent succeeded, and whether the second one did."""
        kind = "same" if before == after else "better" if after else "worse"
        return self.model_copy(update={kind: getattr(self, kind) + 1})

    def found(self, level: float = LEVEL) -> Literal["better", "worse"] | None:
        """How the second agent differs; None where that cannot be determined yet.

        Where a case has not changed, both trials of a pair succeed with the same probability, so that a pair in which
        they differ is better or worse with probability 1/2 each, whatever that probability is, and whatever earlier
        pairs were and made one choose. Their number is tested by the e-value of `confidence_sequence` at 1/2: with no
        case changed, "better" or "worse" is ever found with a probability of at most `level`, however often one looks.
        The choice of a pair must not depend on either of its trials.
        """
        bounds = confidence_sequence(self.better, self.better + self.worse, level)
        if bounds.low > 1 / 2:
            return "better"
        return "worse" if bounds.high < 1 / 2 else None


def telling_pairs(seen: Mapping[str, tuple[int, int]], left: Mapping[str, int], most: int) -> list[str]:
    """The cases of the next pairs, at most `most`: those whose trials are the most likely to differ.

    `seen` has, of each case, the successes and failures of both agents in earlier pairs; `left` how many further pairs
    it can be given. A case gets pairs in proportion to the variance p (1 - p) within it (Neyman's allocation for pairs
    of which only the unlike ones tell), estimated by its mean under the posterior of Jeffreys' prior, and rounded by
    D'Hondt's method.
    """
    weights = {case: _variance(*seen.get(case, (0, 0))) for case, count in left.items() if count > 0}
    waiting = [(-weight, place, case, 1) for place, (case, weight) in enumerate(weights.items())]
    heapq.heapify(waiting)
    chosen: list[str] = []
    while waiting and len(chosen) < most:
        _, place, case, count = heapq.heappop(waiting)
        chosen.append(case)
        if count < left[case]:
            heapq.heappush(waiting, (-weights[case] / (count + 1), place, case, count + 1))
    return chosen


def _variance(successes: int, failures: int) -> float:
    a, b = successes + _PRIOR, failures + _PRIOR
    return a * b / ((a + b) * (a + b + 1))
