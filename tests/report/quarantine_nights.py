"""What `--quarantine` does over many nights: simulated suites, the product's own rule.

    python -m tests.report.quarantine_nights [SUITES]

A suite has 17 cases that always succeed and three that flip: they succeed in 50, 80 and 95 % of their trials. It is run
for 40 nights, once a case, and more often for cases in quarantine. Then each flipping case is changed in one of four
ways for 20 more nights: not at all, it fails always, it succeeds half as often, it succeeds always.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from harness.report.figures.quarantine import find_quarantine, quarantine_results
from harness.results import RunFolder, RunManifest
from harness.score import Scorecard

STEADY, FLIPPING = 17, (0.5, 0.8, 0.95)
BEFORE, AFTER = 40, 20
CHANGES = {"none": 1.0, "fails always": 0.0, "half as often": 0.5, "succeeds always": None}


@dataclass(frozen=True)
class Night:
    """As much of a run folder as the rule reads."""

    manifest: RunManifest
    cards: tuple[Scorecard, ...]

    def scorecards(self) -> tuple[Scorecard, ...]:
        return self.cards


@dataclass
class Seen:
    """What became of one flipping case with one change."""

    told_at: list[int] = field(default_factory=list)
    """Nights after the change on which a gate fails: it is lost, or it failed outside of quarantine."""
    lost: int = 0
    """Nights after the change on which it was shown as lost."""
    left_at: int | None = None
    """The first night after the change on which it was not in quarantine."""
    trials: int = 0
    """Of the nights after the change."""


def manifest(number: int, agent: str) -> RunManifest:
    return RunManifest(
        run=f"night-{number:03}", created=f"2026-01-01T00:{number:03}", harness_version="0", suite="s",
        suite_digest="d", agent="a", agent_digest=agent, snapshot_digest="s", tools_digest="t", tool_mode="live",
        provider="docker", isolates=True, planned=(),
    )  # fmt: skip


def card(case_id: str, attempt: int, success: bool) -> Scorecard:
    return Scorecard(
        case_id=case_id, attempt=attempt, category="c", difficulty="easy", outcome="finished", success=success,
        verdicts=(), scores=(), digest="",
    )  # fmt: skip


def simulated(change: str, chance: random.Random) -> tuple[dict[float, Seen], int, int, int]:
    """What was seen of each flipping case; nights in quarantine before the change, of them lost; steady cases inside."""
    nights: list[Night] = []
    rates = {f"flips-{rate}": rate for rate in FLIPPING} | {f"steady-{n}": 1.0 for n in range(STEADY)}
    seen = {rate: Seen() for rate in FLIPPING}
    inside, lost, steady = 0, 0, 0
    for number in range(BEFORE + AFTER):
        if number == BEFORE and change != "none":
            share = CHANGES[change]
            rates |= {f"flips-{rate}": 1.0 if share is None else rate * share for rate in FLIPPING}
        found = find_quarantine(cast("Sequence[RunFolder]", nights), "s", "a", 1)
        attempts = {one.case_id: one.attempts for one in found.cases}
        steady += sum(name.startswith("steady") for name in attempts)
        cards = tuple(
            card(name, attempt, chance.random() < rate)
            for name, rate in rates.items()
            for attempt in range(1, attempts.get(name, 1) + 1)
        )
        # A change that is worth the name changes a digest: the agent's.
        state = "a" if number < BEFORE or change == "none" else "b"
        nights.append(Night(manifest(number, state), cards))
        results = {one.case_id: one for one in quarantine_results(found, cards)}
        if number < BEFORE:
            inside += len(results)
            lost += sum(one.lost for one in results.values())
            continue
        for rate, own in seen.items():
            result = results.get(f"flips-{rate}")
            own.trials += attempts.get(f"flips-{rate}", 1)
            own.lost += result is not None and result.lost
            failed = any(one.success is False for one in cards if one.case_id == f"flips-{rate}")
            if failed if result is None else result.lost:
                own.told_at.append(number - BEFORE + 1)
            if result is None and own.left_at is None:
                own.left_at = number - BEFORE + 1
    return seen, inside, lost, steady


def median(values: Sequence[int]) -> str:
    return str(sorted(values)[len(values) // 2]) if values else "-"


def main(arguments: Sequence[str]) -> None:
    suites = int(arguments[0]) if arguments else 200
    chance = random.Random(5)
    print(f"{suites} suites a change; {BEFORE} nights before it, {AFTER} after it")
    total = [0, 0, 0]
    print(f"{'change':17}{'rate':>6}{'told night 1':>14}{'within 3':>10}{'within 20':>11}{'lost':>7}{'left':>7}{'after nights':>14}"
          f"{'trials a night':>16}")  # fmt: skip
    for change in CHANGES:
        found: dict[float, list[Seen]] = defaultdict(list)
        for _ in range(suites):
            seen, inside, lost, steady = simulated(change, chance)
            total = [total[0] + inside, total[1] + lost, total[2] + steady]
            for rate, own in seen.items():
                found[rate].append(own)
        for rate, every in found.items():
            first = [min(one.told_at, default=99) for one in every]
            left = [one.left_at for one in every if one.left_at is not None]
            lost = sum(one.lost for one in every) / suites / AFTER
            shares = [sum(night <= most for night in first) / suites for most in (1, 3, AFTER)]
            print(f"{change:17}{rate:6.0%}{shares[0]:14.1%}{shares[1]:10.1%}{shares[2]:11.1%}{lost:7.1%}{len(left) / suites:7.0%}"
                  f"{median(left):>14}{sum(one.trials for one in every) / suites / AFTER:16.1f}", flush=True)  # fmt: skip
    print(f"before any change: {total[1]} of {total[0]} nights in quarantine shown as lost ({total[1] / total[0]:.1%});"
          f" steady cases in quarantine: {total[2]}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
