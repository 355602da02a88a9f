"""How a case's success holds over attempts: pass@k and pass^k, over all cases with enough attempts."""

import math
from collections.abc import Mapping, Sequence

from harness.score import Scorecard
from harness.stats import Interval, bootstrap, pass_at_k, pass_hat_k
from harness.values import Frozen


class Reliability(Frozen):
    """Estimated without bias from the n known attempts at a case, of which c succeeded; means over cases.

    pass@k = 1 - C(n-c, k) / C(n, k): of k attempts at least one succeeds. pass^k = C(c, k) / C(n, k): all k succeed.
    Left out: cases with fewer than k attempts of which success is known.
    """

    k: int
    cases: int
    at_least_one: float
    at_least_one_interval: Interval | None
    """Bootstrap over cases, 95 %."""
    all_of_them: float
    all_of_them_interval: Interval | None


def reliability(cards: Sequence[Scorecard]) -> tuple[Reliability, ...]:
    """For k = 1, 2, ... up to the most attempts that some case has; empty where no case was tried twice."""
    counts: dict[str, tuple[int, int]] = {}
    for card in cards:
        if card.success is not None:
            n, c = counts.get(card.case_id, (0, 0))
            counts[card.case_id] = (n + 1, c + card.success)
    most = max((n for n, _ in counts.values()), default=0)
    return tuple(_at(k, counts) for k in range(1, most + 1)) if most > 1 else ()


def _at(k: int, counts: Mapping[str, tuple[int, int]]) -> Reliability:
    enough = {case: (n, c) for case, (n, c) in counts.items() if n >= k}
    some = {case: [pass_at_k(n, c, k)] for case, (n, c) in enough.items()}
    every = {case: [pass_hat_k(n, c, k)] for case, (n, c) in enough.items()}
    return Reliability(
        k=k,
        cases=len(enough),
        at_least_one=_mean(some),
        at_least_one_interval=bootstrap(some),
        all_of_them=_mean(every),
        all_of_them_interval=bootstrap(every),
    )


def _mean(by_case: Mapping[str, Sequence[float]]) -> float:
    return round(math.fsum(value for values in by_case.values() for value in values) / len(by_case), 12)
