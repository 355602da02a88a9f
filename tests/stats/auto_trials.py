"""How often `--trials auto` finds a difference, and how many trials it spends: simulated runs, the product's own rule.

    python -m tests.stats.auto_trials [COMPARISONS]

A suite of 50 cases was tried 8 times each by the reference. The fixed plan tries the new agent 8 times each too, and
decides by the exact sign test over the cases. `auto` takes at most the same trials. Two results are under way when the
next trial is chosen, as with two jobs.
"""

import random
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from harness.pipeline.auto_trials import AutoTrials
from harness.report import ReferenceTrials
from harness.results import PlannedTrial
from harness.score import Scorecard
from harness.stats import LEVEL, sign_test

CASES, ATTEMPTS, JOBS = 50, 8, 2
Rates = list[float]


@dataclass(frozen=True)
class Found:
    """One comparison."""

    found: str | None
    trials: int
    fixed: str | None
    """What the fixed plan finds."""


def steady(chance: random.Random) -> Rates:
    """Three of five cases always end alike, as with replayed tools and a model that rarely differs."""
    return [chance.choice((0.0, 1.0, 1.0)) if chance.random() < 0.6 else chance.uniform(0.2, 0.9) for _ in range(CASES)]


def unsteady(chance: random.Random) -> Rates:
    """No case always ends alike."""
    return [chance.betavariate(2, 1) for _ in range(CASES)]


def all_alike(chance: random.Random) -> Rates:
    """Every case succeeds in half of its trials: each pair may differ."""
    return [0.5] * CASES


def everywhere(rates: Rates, points: float, chance: random.Random) -> Rates:
    """Every case is worse in proportion to its rate."""
    factor = 1 - points * len(rates) / sum(rates)
    return [rate * factor for rate in rates]


def broken(rates: Rates, points: float, chance: random.Random) -> Rates:
    """Some cases fail now, all others are as they were."""
    left, now = points * len(rates), list(rates)
    for place in chance.sample(range(len(rates)), len(rates)):
        step = min(left, now[place])
        now[place], left = now[place] - step, left - step
    return now


@cache
def planned() -> tuple[PlannedTrial, ...]:
    return tuple(PlannedTrial(case_id=f"c{n}", attempt=k) for n in range(CASES) for k in range(1, ATTEMPTS + 1))


@cache
def card(case_id: str, attempt: int, success: bool) -> Scorecard:
    return Scorecard(
        case_id=case_id, attempt=attempt, category="c", difficulty="easy", outcome="finished", success=success,
        verdicts=(), scores=(), digest="",
    )  # fmt: skip


def compared(before: Rates, after: Rates, chance: random.Random) -> Found:
    """One comparison, by both plans on the same trials."""
    old = {(one.case_id, one.attempt): chance.random() < before[int(one.case_id[1:])] for one in planned()}
    new = {(one.case_id, one.attempt): chance.random() < after[int(one.case_id[1:])] for one in planned()}
    rule = AutoTrials(reference=ReferenceTrials(name="before", suite_digest="", successes=old))
    under_way: deque[Scorecard] = deque()
    trials = 0
    for one in rule.order(planned()):
        if rule.reached is not None:
            break
        under_way.append(card(one.case_id, one.attempt, new[one.case_id, one.attempt]))
        trials += 1
        if len(under_way) == JOBS:
            rule.note(under_way.popleft())
    while under_way:
        rule.note(under_way.popleft())
    return Found(None if rule.reached is None else rule.reached.found, trials, fixed_plan(old, new))


def fixed_plan(old: dict[tuple[str, int], bool], new: dict[tuple[str, int], bool]) -> str | None:
    better = worse = 0
    for number in range(CASES):
        keys = [(f"c{number}", attempt) for attempt in range(1, ATTEMPTS + 1)]
        step = sum(new[key] for key in keys) - sum(old[key] for key in keys)
        better, worse = better + (step > 0), worse + (step < 0)
    p = sign_test(better, worse)
    return None if p is None or p > LEVEL else "better" if better > worse else "worse"


def simulated(
    suite: Callable[[random.Random], Rates],
    change: Callable[[Rates, float, random.Random], Rates],
    points: float,
    comparisons: int,
    seed: int = 5,
) -> list[Found]:
    """So many comparisons of agents that differ by `points` (0.1: ten points)."""
    chance = random.Random(seed)
    found = []
    for _ in range(comparisons):
        rates = suite(chance)
        found.append(compared(rates, change(rates, points, chance) if points else rates, chance))
    return found


def main(arguments: Sequence[str]) -> None:
    comparisons = int(arguments[0]) if arguments else 1000
    full = CASES * ATTEMPTS
    print(f"{comparisons} comparisons each; the fixed plan makes {full} trials")
    print(f"{'suite':10}{'change':12}{'points':>7}{'auto found':>12}{'fixed found':>13}{'trials':>8}{'saved':>7}")
    for suite in (steady, unsteady, all_alike):
        for change, points in ((everywhere, 0.0), (everywhere, 0.1), (everywhere, 0.2), (broken, 0.1), (broken, 0.2)):
            found = simulated(suite, change, points, comparisons)
            told = sum(one.found is not None for one in found) / comparisons
            fixed = sum(one.fixed is not None for one in found) / comparisons
            trials = sum(one.trials for one in found) / comparisons
            name = "none" if not points else change.__name__
            print(
                f"{suite.__name__:10}{name:12}{100 * points:7.0f}{told:12.1%}{fixed:13.1%}{trials:8.0f}"
                f"{1 - trials / full:7.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
